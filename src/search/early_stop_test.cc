#include "search/early_stop.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::search {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SweepPlan plan_of(EarlyTerminate rule) {
  SweepPlan plan;
  plan.metric.name = "loss";
  plan.early_terminate = rule;
  return plan;
}

Trial trial_of(std::int64_t number, TrialState state, std::vector<double> curve) {
  return {.number = number, .values = {}, .state = state, .curve = std::move(curve)};
}

// The two examples of W&B's documentation.
TEST(Brackets, are_those_of_the_documentation) {
  EXPECT_THAT(find_brackets({.rule = Rule::Hyperband, .min_iter = 3}, 100),
              ElementsAre(3, 9, 27, 81));
  EXPECT_THAT(find_brackets({.rule = Rule::Hyperband, .max_iter = 27, .s = 2}, 100),
              ElementsAre(3, 9));
  EXPECT_THAT(find_brackets({.rule = Rule::Hyperband, .max_iter = 27, .s = 2}, 8), ElementsAre(3));
}

TEST(Hyperband, stops_what_is_outside_the_best_share_at_a_bracket) {
  const SweepPlan plan = plan_of({.rule = Rule::Hyperband, .min_iter = 2});
  std::vector<Trial> trials;
  for (int i = 0; i < 6; ++i) {
    trials.push_back(trial_of(i + 1, TrialState::Running, {9, 1.0 + i}));
  }
  // floor(6 / 3) = 2 may be better.
  EXPECT_THAT(find_stops(plan, trials), ElementsAre(3, 4, 5));
  trials[5].curve = {9};
  EXPECT_THAT(find_stops(plan, trials), ElementsAre(2, 3, 4));
}

TEST(Hyperband, looks_only_at_brackets_unless_strict) {
  SweepPlan plan = plan_of({.rule = Rule::Hyperband, .min_iter = 2});
  const std::vector<Trial> trials = {trial_of(1, TrialState::Running, {5, 5, 1}),
                                     trial_of(2, TrialState::Finished, {5, 4, 4})};
  EXPECT_THAT(find_stops(plan, trials), ElementsAre(0));
  plan.early_terminate.strict = true;
  EXPECT_THAT(find_stops(plan, trials), IsEmpty());
}

TEST(Asha, pauses_at_a_rung_and_promotes_the_best_third) {
  const SweepPlan plan = plan_of({.rule = Rule::Asha, .min_iter = 1});
  std::vector<Trial> trials = {trial_of(1, TrialState::Running, {0.5})};
  EXPECT_EQ(judge(plan, trials, 0).verdict, Verdict::Pause);
  trials[0].state = TrialState::Paused;
  trials.push_back(trial_of(2, TrialState::Paused, {0.7}));
  EXPECT_THAT(find_promotions(plan, trials), IsEmpty());
  trials.push_back(trial_of(3, TrialState::Running, {0.9}));
  EXPECT_EQ(judge(plan, trials, 2).verdict, Verdict::Pause);
  EXPECT_THAT(find_promotions(plan, trials), ElementsAre(0));
  trials[2].curve = {0.1};
  EXPECT_EQ(judge(plan, trials, 2).verdict, Verdict::GoOn);
  EXPECT_THAT(find_promotions(plan, trials), IsEmpty());
}

TEST(Asha, promotes_from_the_highest_rung_first) {
  const SweepPlan plan = plan_of({.rule = Rule::Asha, .min_iter = 1});
  std::vector<Trial> trials;
  for (int i = 0; i < 3; ++i) {
    trials.push_back(trial_of(i + 1, TrialState::Paused, {2, 2, 1.0 + i}));
  }
  for (int i = 3; i < 9; ++i) {
    trials.push_back(trial_of(i + 1, TrialState::Paused, {0.1 * i}));
  }
  // Rung 3 holds three trials: one place. Rung 1 holds nine: the three best of it.
  EXPECT_THAT(find_promotions(plan, trials), ElementsAre(0, 3, 4, 5));
}

TEST(Asha, without_promotion_stops) {
  const SweepPlan plan = plan_of({.rule = Rule::Asha, .min_iter = 1, .is_promoting = false});
  const std::vector<Trial> trials = {trial_of(1, TrialState::Running, {0.5}),
                                     trial_of(2, TrialState::Running, {0.7}),
                                     trial_of(3, TrialState::Running, {0.6})};
  EXPECT_THAT(find_stops(plan, trials), ElementsAre(1, 2));
}

TEST(Median, stops_what_is_worse_than_the_others_averages) {
  SweepPlan plan = plan_of({.rule = Rule::Median, .min_iter = 2});
  plan.metric.goal = Goal::Maximize;
  // Averages up to the second report: 0.2, 0.3, 0.4.
  const std::vector<Trial> trials = {trial_of(1, TrialState::Finished, {0.1, 0.3, 0.9}),
                                     trial_of(2, TrialState::Finished, {0.2, 0.4, 0.9}),
                                     trial_of(3, TrialState::Finished, {0.3, 0.5, 0.9}),
                                     trial_of(4, TrialState::Running, {0.1, 0.29}),
                                     trial_of(5, TrialState::Running, {0.1, 0.31}),
                                     trial_of(6, TrialState::Running, {0.0})};
  EXPECT_EQ(judge(plan, std::vector(trials.begin(), trials.begin() + 4), 3).verdict, Verdict::Stop);
  std::vector<Trial> other(trials.begin(), trials.begin() + 3);
  other.push_back(trials[4]);
  EXPECT_EQ(judge(plan, other, 3).verdict, Verdict::GoOn);
  EXPECT_EQ(judge(plan, trials, 5).verdict, Verdict::GoOn);
}

}  // namespace
}  // namespace kedge::search
