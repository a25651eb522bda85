#include "store/run_search.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'800'000'000'000'000;

ListedRun make_run(const std::string& id, std::int64_t created_us, double rate, double loss) {
  ListedRun run;
  run.facts.project = "lab";
  run.facts.id = id;
  run.facts.created_us = created_us;
  run.config = {{"optimizer", {{"lr", rate}}}};
  run.metrics = {{"val/loss", {.last = loss, .min = loss / 2, .max = 2, .count = 3}}};
  run.values = {{"best", {{"value", loss}}}};
  return run;
}

std::vector<ListedRun> three_runs() {
  return {make_run("a", 10, 0.1, 0.5), make_run("b", 30, 0.01, 0.25), make_run("c", 20, 0.1, 1)};
}

std::vector<std::string> ids_of(const Search& search) {
  std::vector<std::string> ids;
  const auto answer = search_runs(three_runs(), search, kNow);
  EXPECT_TRUE(answer) << answer.error().message;
  for (const json& run : json::parse(answer ? answer->runs : "[]")) {
    ids.push_back(run["id"]);
  }
  return ids;
}

TEST(RunSearch, runs_are_picked_and_ordered_newest_first) {
  EXPECT_THAT(ids_of({.fields = {{}}}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(ids_of({.filter = "val/loss < 0.75", .fields = {{}}}), ElementsAre("b", "a"));
  EXPECT_THAT(
      ids_of({.filter = "config.optimizer.lr = 0.1", .order = {"-val/loss.min"}, .fields = {{}}}),
      ElementsAre("c", "a"));
}

TEST(RunSearch, an_answer_has_the_fields_that_were_asked_for_and_counts_all) {
  const auto answer = search_runs(
      three_runs(), {.limit = 1, .fields = {{"config.optimizer.lr", "val/loss", "best"}}}, kNow);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->total, 3U);
  const json run = json::parse(answer->runs).at(0);
  EXPECT_EQ(run["config"], json({{"optimizer.lr", 0.01}}));
  EXPECT_EQ(run["summary"]["val/loss"]["min"], 0.125);
  EXPECT_EQ(run["summary"]["best"]["last"], R"({"value":0.25})");
}

TEST(RunSearch, a_name_that_no_run_has_is_a_warning) {
  const auto answer = search_runs(three_runs(), {.filter = "val/los < 1", .fields = {{}}}, kNow);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->warnings, ElementsAre(HasSubstr("'val/loss'")));
}

TEST(RunSearch, needs_are_what_filter_order_and_fields_name) {
  const auto needs = [](const Search& search) {
    const SearchNeeds found = find_needs(search, kNow).value();
    return std::pair(found.config, found.metrics);
  };
  EXPECT_EQ(needs({.filter = "state = failed and tag = x", .order = {"-created"}}),
            std::pair(false, false));
  EXPECT_EQ(needs({.filter = "config.seed = 1"}), std::pair(true, false));
  EXPECT_EQ(needs({.order = {"-val/loss"}}), std::pair(false, true));
  EXPECT_EQ(needs({.fields = {{"config.seed", "loss.min"}}}), std::pair(true, true));
  EXPECT_EQ(find_needs({.filter = "tag ="}, kNow).error().kind, ErrorKind::Usage);
}

}  // namespace
}  // namespace kedge::store
