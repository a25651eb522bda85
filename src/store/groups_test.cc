// Groups of runs. Expected numbers: numpy 2.4, mean(), std(ddof=1), interp(), and by hand.
#include "store/groups.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/store.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class GroupsTest : public BackendTest {
 protected:
  RunKey make_one(const std::string& id, const json& config, const std::vector<LogPoint>& points,
                  const std::string& project = "mnist") {
    const RunKey key{project, id};
    RunPatch patch;
    patch.config = config;
    EXPECT_TRUE(store_->create_run(key, patch, kNow));
    EXPECT_TRUE(store_->log(key, points, kNow));
    return key;
  }

  static std::vector<LogPoint> points_of(const std::vector<std::pair<std::int64_t, double>>& all) {
    std::vector<LogPoint> points;
    for (const auto& [step, value] : all) {
      points.push_back({"loss", step, value, kNow});
    }
    return points;
  }

  GroupCurves curves(GroupCurvesRequest request) {
    request.curve.key = "loss";
    request.search.projects = {"mnist"};
    auto answer = store_->group_curves(request, kNow);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? std::move(*answer) : GroupCurves();
  }

  static std::vector<double> of(const GroupCurve& curve, double (Spread::*part)() const) {
    std::vector<double> values;
    for (const Spread& spread : curve.y) {
      values.push_back((spread.*part)());
    }
    return values;
  }

  static std::vector<std::size_t> counts(const GroupCurve& curve) {
    std::vector<std::size_t> values;
    for (const Spread& spread : curve.y) {
      values.push_back(spread.count());
    }
    return values;
  }
};

KEDGE_EACH_BACKEND(GroupsTest);

TEST_P(GroupsTest, equal_steps_are_summed_up_exactly) {
  make_one("a", {{"opt", "adam"}}, points_of({{0, 1}, {10, 0.5}, {20, 0.1}}));
  make_one("b", {{"opt", "adam"}}, points_of({{0, 2}, {10, 0.7}, {20, 0.4}}));
  make_one("c", {{"opt", "adam"}}, points_of({{0, 4}, {10, 0.9}}));
  make_one("d", {{"opt", "sgd"}}, points_of({{0, 8}}));
  make_one("e", {{"opt", "adam"}}, {}, "another");
  const auto answer = curves({.search = {}, .by = {"config.opt"}});
  ASSERT_EQ(answer.groups.size(), 2U);
  const GroupCurve& adam = answer.groups[0];
  EXPECT_EQ(adam.values, GroupValues({"adam"}));
  EXPECT_EQ(adam.run_count, 3U);
  EXPECT_EQ(adam.curve_count, 3U);
  EXPECT_FALSE(adam.is_binned);
  EXPECT_THAT(adam.x, ElementsAre(0, 10, 20));
  EXPECT_THAT(counts(adam), ElementsAre(3, 3, 2));
  EXPECT_THAT(of(adam, &Spread::mean),
              Pointwise(DoubleNear(1e-12), {2.3333333333333335, 0.7, 0.25}));
  EXPECT_THAT(of(adam, &Spread::deviation),
              Pointwise(DoubleNear(1e-12), {1.5275252316519468, 0.2, 0.21213203435596428}));
  EXPECT_THAT(of(adam, &Spread::min), ElementsAre(1, 0.5, 0.1));
  EXPECT_THAT(of(adam, &Spread::max), ElementsAre(4, 0.9, 0.4));
  EXPECT_EQ(answer.groups[1].values, GroupValues({"sgd"}));
  EXPECT_THAT(of(answer.groups[1], &Spread::deviation), ElementsAre(0));
}

TEST_P(GroupsTest, a_run_without_a_point_there_counts_with_its_line_and_not_beyond_its_end) {
  make_one("a", {}, points_of({{0, 0}, {10, 10}}));
  make_one("b", {}, points_of({{5, 1}, {20, 4}}));
  const auto answer = curves({.search = {}, .by = {"config.none"}});
  ASSERT_EQ(answer.groups.size(), 1U);
  EXPECT_EQ(answer.groups[0].values, GroupValues({nullptr}));
  EXPECT_THAT(answer.groups[0].x, ElementsAre(0, 5, 10, 20));
  EXPECT_THAT(counts(answer.groups[0]), ElementsAre(1, 2, 2, 1));
  EXPECT_THAT(of(answer.groups[0], &Spread::mean), Pointwise(DoubleNear(1e-12), {0, 3, 6, 4}));
}

TEST_P(GroupsTest, values_that_are_not_finite_do_not_count) {
  make_one("a", {}, points_of({{0, 1}, {1, kNaN}, {2, 3}}));
  make_one("b", {}, points_of({{0, 3}, {1, 5}, {2, std::numeric_limits<double>::infinity()}}));
  const auto answer = curves({.search = {}, .by = {"config.none"}});
  EXPECT_THAT(counts(answer.groups[0]), ElementsAre(2, 1, 1));
  EXPECT_THAT(of(answer.groups[0], &Spread::mean), ElementsAre(2, 5, 3));
}

// Steps 0..9 in two intervals: 0..4 and 5..9 (4.5 is the border). Run a has every step, b two.
TEST_P(GroupsTest, a_run_that_logs_more_often_weighs_no_more) {
  std::vector<std::pair<std::int64_t, double>> every;
  for (std::int64_t step = 0; step < 10; ++step) {
    every.emplace_back(step, step < 5 ? 1 : 3);
  }
  make_one("a", {}, points_of(every));
  make_one("b", {}, points_of({{0, 5}, {9, 7}}));
  GroupCurvesRequest request{.search = {}, .by = {"config.none"}};
  request.curve.points = 2;
  const auto answer = curves(request);
  EXPECT_TRUE(answer.groups[0].is_binned);
  EXPECT_THAT(answer.groups[0].x, ElementsAre(2.25, 6.75));
  EXPECT_THAT(counts(answer.groups[0]), ElementsAre(2, 2));
  EXPECT_THAT(of(answer.groups[0], &Spread::mean), ElementsAre(3, 5));
}

TEST_P(GroupsTest, every_run_counts_and_no_order_changes_a_digit) {
  for (int i = 0; i < 300; ++i) {
    const double value = 0.1 * i;
    make_one("r" + std::to_string(i), {{"opt", i % 3 == 0 ? "adam" : "sgd"}, {"lr", i}},
             points_of({{0, value}}));
  }
  GroupCurvesRequest request{.search = {}, .by = {"config.opt"}};
  const auto newest = curves(request);
  request.search.order = {"summary.loss"};
  const auto least = curves(request);
  ASSERT_EQ(newest.groups.size(), 2U);
  EXPECT_EQ(newest.groups[0].values, GroupValues({"sgd"}));
  EXPECT_THAT(counts(newest.groups[0]), ElementsAre(200));
  // np.mean([0.1 * i for i in range(300) if i % 3]), np.std(..., ddof=1)
  EXPECT_NEAR(newest.groups[0].y[0].mean(), 15.0, 1e-10);
  EXPECT_NEAR(newest.groups[0].y[0].deviation(), 8.681696798234919, 1e-10);
  EXPECT_EQ(newest.groups[0].y[0].mean(), least.groups[0].y[0].mean());
  request.only = {{"adam"}};
  request.search.filter = "config.lr < 30";
  const auto few = curves(request);
  ASSERT_EQ(few.groups.size(), 1U);
  EXPECT_EQ(few.groups[0].run_count, 10U);
  EXPECT_NEAR(few.groups[0].y[0].mean(), 1.35, 1e-12);
}

TEST_P(GroupsTest, rows_sum_up_what_their_runs_say) {
  make_one("a", {{"opt", "adam"}, {"lr", 1}}, points_of({{3, 1}}));
  make_one("b", {{"opt", "adam"}, {"lr", 1.0}}, points_of({{3, 2}}));
  make_one("c", {{"opt", "adam"}}, points_of({{5, 4}}));
  make_one("d", {{"opt", ""}, {"lr", "auto"}}, {});
  make_one("e", {{"lr", 2}}, {});
  RunPatch finished;
  finished.state = RunState::Finished;
  ASSERT_TRUE(store_->patch_run({"mnist", "a"}, finished, kNow));
  GroupRequest request{.search = {.projects = {"mnist"}, .order = {"id"}},
                       .by = {"config.opt"},
                       .fields = {"summary.loss", "config.lr", "last_step"}};
  auto answer = store_->group_runs(request, kNow);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->total, 2U);
  EXPECT_EQ(answer->run_total, 5U);
  const RunGroup& adam = answer->groups[0];
  EXPECT_EQ(adam.run_count, 3U);
  EXPECT_EQ(adam.states.at("finished"), 1U);
  EXPECT_EQ(adam.states.at("running"), 2U);
  ASSERT_TRUE(adam.fields[0].numbers);
  EXPECT_NEAR(adam.fields[0].numbers->mean(), 2.3333333333333335, 1e-12);
  EXPECT_NEAR(adam.fields[0].numbers->deviation(), 1.5275252316519468, 1e-12);
  EXPECT_EQ(adam.fields[1].run_count, 2U);
  EXPECT_EQ(adam.fields[1].value_count, 1U);
  EXPECT_EQ(adam.fields[1].value, json(1));
  EXPECT_EQ(adam.fields[2].value_count, 2U);
  const RunGroup& none = answer->groups[1];
  EXPECT_EQ(none.values, GroupValues({nullptr})) << "an empty text is as good as none";
  EXPECT_EQ(none.run_count, 2U);
  EXPECT_FALSE(none.fields[0].numbers);
  EXPECT_EQ(none.fields[1].value_count, 2U);
  EXPECT_FALSE(none.fields[1].numbers) << "'auto' is no number";
  request.search.limit = 1;
  request.search.offset = 1;
  answer = store_->group_runs(request, kNow);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->total, 2U);
  ASSERT_EQ(answer->groups.size(), 1U);
  EXPECT_EQ(answer->groups[0].run_count, 2U);
}

TEST_P(GroupsTest, tags_are_no_group) {
  const auto answer = store_->group_runs({.search = {}, .by = {"tag"}, .fields = {}}, kNow);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::Usage);
}

}  // namespace
}  // namespace kedge::store
