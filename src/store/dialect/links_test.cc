// Datasets, logged models and loose files, on each database.
#include "store/dialect/links.h"

#include <cmath>
#include <future>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/dialect/logged_models.h"
#include "store/dialect/loose_files.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class LinksTest : public BackendTest {};

KEDGE_EACH_BACKEND(LinksTest);

RunLinks one_of_each() {
  return {.datasets = {{.dataset = {.name = "train", .digest = "d1", .source_type = "local"},
                        .tags = {{"mlflow.data.context", "training"}}}},
          .inputs = {{.model_id = "m-1"}},
          .outputs = {{.model_id = "m-2", .step = 7}}};
}

TEST_P(LinksTest, what_a_run_was_given_is_told_to_the_page_and_found_after_a_restart) {
  const RunKey key = make_run("r1");
  std::vector<Change> told;
  store_->set_listener([&](std::span<const Change> changes) {
    told.insert(told.end(), changes.begin(), changes.end());
  });
  ASSERT_TRUE(Links(*store_).add(key, one_of_each()));
  store_->set_listener({});
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].run, key);
  EXPECT_EQ(told[0].what, kChangedFacts);
  reopen();
  Links links(*store_);
  EXPECT_THAT(links.find(key)->datasets, IsEmpty());  // nobody has looked yet
  ASSERT_TRUE(links.load());
  EXPECT_THAT(links.runs(), ElementsAre("r1"));
  const RunLinks found = links.find(key).value();
  ASSERT_THAT(found.datasets, SizeIs(1));
  EXPECT_EQ(found.datasets[0].dataset.digest, "d1");
  EXPECT_THAT(found.datasets[0].tags, ElementsAre(Pair("mlflow.data.context", "training")));
  EXPECT_EQ(found.inputs.at(0).model_id, "m-1");
  EXPECT_EQ(found.outputs.at(0).step, 7);
  EXPECT_EQ(links.datasets(store_->find_project("mnist")->id)->at(0).name, "train");
}

TEST_P(LinksTest, links_of_a_run_that_is_gone_are_refused) {
  EXPECT_EQ(Links(*store_).add({"mnist", "none"}, one_of_each()).error().kind, ErrorKind::NotFound);
}

TEST_P(LinksTest, a_metric_of_a_model_counts_once_nan_too_and_unknown_models_are_passed_over) {
  const std::int64_t project = store_->find_project(make_run("r1").project)->id;
  LoggedModels models(*store_);
  ASSERT_TRUE(models.add({.id = "m-1", .project = project, .name = "net", .created_us = kNow}));
  const std::vector<ModelMetric> metrics = {
      {.model_id = "m-1", .key = "loss", .value = 0.5, .step = 1},
      {.model_id = "m-1", .key = "loss", .value = std::nan(""), .step = 2},
      {.model_id = "m-none", .key = "loss", .value = 1}};
  for (int round = 0; round < 2; ++round) {
    std::promise<Result<void>> done;
    models.add_metrics("r1", metrics, [&](Result<void> result) { done.set_value(result); });
    ASSERT_TRUE(done.get_future().get());
  }
  const auto found = models.metrics("m-1").value();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].value, 0.5);
  EXPECT_TRUE(std::isnan(found[1].value));
  EXPECT_THAT(models.metrics("m-none").value(), IsEmpty());
}

TEST_P(LinksTest, a_file_of_a_model_counts_against_the_models_project) {
  const std::int64_t project = store_->find_project(make_run("r1").project)->id;
  ASSERT_TRUE(LoggedModels(*store_).add({.id = "m-1", .project = project, .name = "net"}));
  LooseFiles files(*store_);
  ASSERT_TRUE(files.put("models/m-1", {.path = "a", .size = 1, .digest = "x"}));
  ASSERT_TRUE(files.put("models/m-1", {.path = "a", .size = 2, .digest = "y"}));
  EXPECT_EQ(files.find("models/m-1", "a").value()->size, 2U);
  EXPECT_EQ(files.project_of("models/m-1").value(), "mnist");
  EXPECT_EQ(files.project_of("parts/1").value(), "");
  ASSERT_TRUE(files.remove("models/m-1", {"a", "none"}));
  EXPECT_THAT(files.list("models/m-1").value(), IsEmpty());
}

}  // namespace
}  // namespace kedge::store
