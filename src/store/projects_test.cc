// Projects, labels and the trash, on each of the store's databases.
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/artifacts.h"
#include "store/store.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ProjectsTest : public BackendTest {};

KEDGE_EACH_BACKEND(ProjectsTest);

TEST_P(ProjectsTest, the_default_project_is_number_0_and_others_count_on) {
  ASSERT_TRUE(store_->find_project(0));
  EXPECT_EQ(store_->find_project(0)->name, "Default");
  const auto made = store_->create_project({.name = "Gr\xC3\xB6\xC3\x9F"
                                                    "e / v2",
                                            .labels = {{"team", "vision"}},
                                            .artifact_root = "s3://b/x"},
                                           kNow);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->id, 1);
  EXPECT_EQ(store_
                ->create_project({.name = "Gr\xC3\xB6\xC3\x9F"
                                          "e / v2"},
                                 kNow)
                .error()
                .kind,
            ErrorKind::Usage);
  reopen();
  const auto found = store_->find_project(
      "Gr\xC3\xB6\xC3\x9F"
      "e / v2");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, 1);
  EXPECT_THAT(found->labels, ElementsAre(Pair("team", "vision")));
  EXPECT_EQ(found->artifact_root, "s3://b/x");
  EXPECT_EQ(found->created_us, kNow);
}

TEST_P(ProjectsTest, what_is_in_a_project_follows_its_new_name) {
  const RunKey key = make_run("r1");
  ASSERT_TRUE(store_->log(key, {{"loss", 1, 0.5}}, kNow));
  const auto id = store_->find_project("mnist")->id;
  ASSERT_TRUE(store_->patch_project(id, {.name = "digits", .labels = {{"a", "1"}}}, kNow + 1));
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) {
      reopen();
    }
    EXPECT_FALSE(store_->find_run(key));
    EXPECT_EQ(store_->find_run({"digits", "r1"})->summary["loss"]["last"], 0.5);
    EXPECT_THAT(find_ids({.projects = {"digits"}}), ElementsAre("r1"));
    EXPECT_EQ(store_->find_project("digits")->changed_us, kNow + 1);
  }
  ASSERT_TRUE(store_->log({"digits", "r1"}, {{"loss", 2, 0.25}}, kNow));
  EXPECT_THAT(values_of({"digits", "r1"}, "loss"), ElementsAre(0.5, 0.25));
  EXPECT_EQ(store_->patch_project(id, {.name = "Default"}, kNow).error().kind, ErrorKind::Usage);
  EXPECT_EQ(store_->patch_project(77, {}, kNow).error().kind, ErrorKind::NotFound);
}

TEST_P(ProjectsTest, a_project_in_the_trash_takes_its_runs_along_and_brings_them_back) {
  make_run("r1");
  make_run("r2");
  ASSERT_TRUE(store_->patch_run({"mnist", "r2"}, {.deleted_us = kNow}, kNow));
  EXPECT_THAT(find_ids({}), ElementsAre("r1"));
  EXPECT_THAT(find_ids({.shown = Shown::Trash}), ElementsAre("r2"));
  EXPECT_THAT(find_ids({.shown = Shown::All}), SizeIs(2));
  const auto id = store_->find_project("mnist")->id;
  ASSERT_TRUE(store_->patch_project(id, {.deleted_us = kNow}, kNow));
  reopen();
  EXPECT_THAT(find_ids({}), IsEmpty());
  EXPECT_EQ(store_->find_run({"mnist", "r1"})->facts.deleted_us, kNow);
  ASSERT_TRUE(store_->patch_project(id, {.deleted_us = 0}, kNow));
  EXPECT_THAT(find_ids({}), SizeIs(2));
  reopen();
  EXPECT_THAT(find_ids({}), SizeIs(2));
}

TEST_P(ProjectsTest, labels_are_merged_searched_and_kept) {
  RunPatch patch;
  patch.labels = {{"mlflow.user", "ann"}, {"stage", "NaN"}};
  const RunKey key = make_run("r1", patch);
  make_run("r2");
  RunPatch change;
  change.labels = {{"stage", nullptr}, {"team", "vision"}};
  ASSERT_TRUE(store_->patch_run(key, change, kNow));
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) {
      reopen();
    }
    EXPECT_EQ(store_->find_run(key)->labels, (json{{"mlflow.user", "ann"}, {"team", "vision"}}));
    EXPECT_THAT(find_ids({.filter = "label.mlflow.user = ann"}), ElementsAre("r1"));
    EXPECT_THAT(find_ids({.filter = "not exists label.team"}), ElementsAre("r2"));
  }
}

TEST_P(ProjectsTest, an_edit_sees_the_run_and_changes_nothing_when_it_refuses) {
  RunPatch patch;
  patch.config = {{"lr", 0.1}};
  const RunKey key = make_run("r1", patch);
  const auto set_once = [](double value) {
    return [value](const store::Run& run) -> Result<RunPatch> {
      if (run.config.contains("lr") && run.config["lr"] != value) {
        return fail(ErrorKind::Usage, "lr is set");
      }
      RunPatch edit;
      edit.config = {{"lr", value}};
      edit.labels = {{"seen", "yes"}};
      return edit;
    };
  };
  EXPECT_EQ(store_->edit_run(key, set_once(0.2), kNow).error().message, "lr is set");
  EXPECT_EQ(store_->find_run(key)->labels, json::object());
  ASSERT_TRUE(store_->edit_run(key, set_once(0.1), kNow));
  EXPECT_EQ(store_->find_run(key)->labels, (json{{"seen", "yes"}}));
}

TEST_P(ProjectsTest, an_edit_can_be_answered_later) {
  const RunKey key = make_run("r1");
  std::promise<Result<void>> answer;
  store_->edit_run(
      key, [](const store::Run&) -> Result<RunPatch> { return RunPatch{.labels = {{"a", "b"}}}; },
      kNow, [&](Result<void> done) { answer.set_value(std::move(done)); });
  ASSERT_TRUE(answer.get_future().get());
  std::string seen;
  ASSERT_TRUE(store_->visit_run(key, [&](const FoundRun& run) {
    run.visit_labels([&](const std::string& name, std::string_view text) {
      seen = name + "=" + std::string(text);
    });
  }));
  EXPECT_EQ(seen, "a=b");
  EXPECT_EQ(store_->visit_run({"p", "none"}, [](const FoundRun&) {}).error().kind,
            ErrorKind::NotFound);
}

TEST_P(ProjectsTest, files_can_be_taken_from_a_run) {
  const RunKey key = make_run("r1");
  const std::string digest(64, 'a');
  ASSERT_TRUE(store_->bind_file(key, {.path = "x", .size = 1, .digest = digest}));
  ASSERT_TRUE(store_->bind_file(key, {.path = "y", .size = 1, .digest = digest}));
  ASSERT_TRUE(store_->unbind_files(key, {"x", "not there"}));
  const auto files = store_->list_files(key);
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().path, "y");
}

TEST_P(ProjectsTest, a_run_is_found_by_its_id_alone) {
  ASSERT_TRUE(store_->create_run({"b", "same"}, {}, kNow));
  ASSERT_TRUE(store_->create_run({"a", "same"}, {}, kNow + 1));
  EXPECT_THAT(store_->find_runs("same"), ElementsAre(RunKey{"b", "same"}, RunKey{"a", "same"}));
  ASSERT_TRUE(store_->delete_run({"b", "same"}));
  EXPECT_THAT(store_->find_runs("same"), ElementsAre(RunKey{"a", "same"}));
  EXPECT_THAT(store_->find_runs("other"), IsEmpty());
}

TEST_P(ProjectsTest, the_last_value_is_that_of_the_greatest_step_then_time_then_arrival) {
  const RunKey key = make_run("r1");
  ASSERT_TRUE(store_->log(key, {{"x", 5, 1.0, kNow}, {"x", 3, 2.0, kNow + 9}}, kNow));
  EXPECT_EQ(store_->find_run(key)->summary["x"]["last"], 1.0);
  ASSERT_TRUE(store_->log(key, {{"x", 5, 6.0, kNow}, {"x", 5, 7.0, kNow}}, kNow));
  ASSERT_TRUE(store_->log(key, {{"x", 5, 0.5, kNow - 1}}, kNow));
  for (const bool is_sealed : {false, true}) {
    if (is_sealed) {
      ASSERT_TRUE(store_->patch_run(key, {.state = RunState::Finished}, kNow));
      reopen();
    }
    EXPECT_EQ(store_->find_run(key)->summary["x"]["last"], 7.0);
  }
}

TEST_P(ProjectsTest, a_plan_of_another_language_picks_and_orders) {
  for (const char* id : {"r1", "r2", "r3"}) {
    RunPatch patch;
    patch.config = {{"lr", id[1] - '0'}};
    patch.labels = {{"who", id}};
    const RunKey key = make_run(id, patch);
    ASSERT_TRUE(store_->log(key, {{"loss", 1, 1.0 / (id[1] - '0'), kNow}}, kNow));
  }
  Search search{.limit = 2};
  search.plan = [](const QueryKeys& keys) {
    const auto lr = *keys.find_config("lr");
    const RunView value = [lr](const QueriedRun& run, std::string&) { return run.config(lr); };
    const Condition is_two{.kind = Condition::Kind::Equal, .view = value, .values = {2.0}};
    return SearchPlan{.filter = {.kind = Condition::Kind::Not, .children = {is_two}},
                      .order = {{value, true}}};
  };
  std::vector<std::pair<std::string, double>> seen;
  const auto total = store_->scan(search, kNow, [&](const FoundRun& run) {
    run.visit_summary([&](const std::string& name, const MetricSummary& metric) {
      seen.emplace_back(run.facts().id + " " + name, metric.last);
      EXPECT_EQ(metric.last_us, kNow);
    });
    run.visit_labels([&](const std::string& name, std::string_view text) {
      EXPECT_EQ(name, "who");
      EXPECT_EQ(text, run.facts().id);
    });
  });
  EXPECT_EQ(*total, 2U);
  EXPECT_THAT(seen, ElementsAre(Pair("r3 loss", 1.0 / 3), Pair("r1 loss", 1.0)));
}

TEST_P(ProjectsTest, a_search_knows_only_the_names_of_its_projects) {
  const auto make = [&](const std::string& project, const std::string& word) {
    RunPatch patch;
    patch.config = {{word + "_rate", 1}};
    patch.labels = {{word + "_label", "x"}};
    ASSERT_TRUE(store_->create_run({project, "r"}, patch, kNow));
    ASSERT_TRUE(store_->log({project, "r"}, {{word + "_loss", 1, 2, kNow}}, kNow));
  };
  make("own", "plain");
  make("foreign", "secret");
  const auto warnings = [&](const std::string& filter, const std::string& project) {
    const auto found = store_->search({.projects = {project}, .filter = filter}, kNow);
    return found ? found->warnings : std::vector<std::string>{found.error().message};
  };
  using testing::ElementsAre;
  EXPECT_THAT(warnings("secret_los > 1", "own"), ElementsAre("no run has the metric 'secret_los'"));
  EXPECT_THAT(warnings("secret_loss > 1", "own"),
              ElementsAre("no run has the metric 'secret_loss'"))
      << "that another project has it must not show";
  EXPECT_THAT(warnings("exists config.secret_rate", "own"),
              ElementsAre("no run has the config key 'secret_rate'"));
  EXPECT_THAT(warnings("exists label.secret_label", "own"),
              ElementsAre("no run has the label 'secret_label'"));
  EXPECT_THAT(warnings("secret_los > 1", "foreign"),
              ElementsAre("no run has the metric 'secret_los'; did you mean 'secret_loss'?"));
  EXPECT_THAT(warnings("plain_loss > 1 and config.plain_rate = 1", "own"), testing::IsEmpty());
}

TEST_P(ProjectsTest, whoever_asks_says_how_long_a_run_may_be_silent) {
  for (const char* source : {"kedge", "wandb", "mlflow"}) {
    make_run(source, {.source = source});
  }
  const auto silence_of = [](const RunFacts& run) {
    return run.source == "mlflow"  ? std::nullopt
           : run.source == "wandb" ? std::optional(300 * kSecond)
                                   : std::optional(60 * kSecond);
  };
  const auto crashed_at = [&](std::int64_t seconds) {
    return *store_->mark_crashed(kNow + seconds * kSecond, silence_of);
  };
  EXPECT_THAT(crashed_at(61), ElementsAre(RunKey{"mnist", "kedge"}));
  EXPECT_THAT(crashed_at(301), ElementsAre(RunKey{"mnist", "wandb"}));
  EXPECT_THAT(crashed_at(86'400), IsEmpty());
}

}  // namespace
}  // namespace kedge::store
