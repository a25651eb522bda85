#include "search/hand_out.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {
namespace {

SweepPlan plan_of(const std::string& more = {}) {
  return parse_sweep(
             "method: grid\nmetric: {name: loss, goal: minimize}\n"
             "parameters: {lr: {values: [1, 2, 3]}}\n" +
                 more,
             "sweep.yaml")
      .value();
}

Trial trial(std::int64_t number, TrialState state, int attempts = 1) {
  return {.number = number, .values = {{"lr", number}}, .state = state, .attempts = attempts};
}

TEST(HandOut, a_trial_that_nobody_works_on_comes_before_a_new_one) {
  const std::vector trials = {trial(1, TrialState::Running), trial(2, TrialState::Waiting)};
  const auto offer = next_offer(plan_of(), trials).value();
  EXPECT_EQ(offer.kind, Offer::Kind::TakeOver);
  EXPECT_EQ(offer.index, 1U);
}

TEST(HandOut, one_that_is_held_is_passed_over) {
  const std::vector trials = {trial(1, TrialState::Running), trial(2, TrialState::Running)};
  const auto offer = next_offer(plan_of(), trials).value();
  EXPECT_EQ(offer.kind, Offer::Kind::New);
  EXPECT_EQ(offer.number, 3);
  EXPECT_EQ(offer.values, nlohmann::json({{"lr", 3}}));
}

TEST(HandOut, one_that_takes_its_agents_down_is_given_up) {
  const std::vector trials = {trial(1, TrialState::Waiting, 49)};
  EXPECT_EQ(next_offer(plan_of(), trials)->kind, Offer::Kind::TakeOver);
  const std::vector worn = {trial(1, TrialState::Waiting, 50)};
  EXPECT_EQ(next_offer(plan_of(), worn)->kind, Offer::Kind::GiveUp);
}

// ASHA with eta 3: of three at the first rung the best goes on.
TEST(HandOut, a_promotion_comes_before_a_new_trial_and_after_an_open_one) {
  const SweepPlan plan = plan_of("early_terminate: {type: asha, min_iter: 1, eta: 3}\n");
  std::vector trials = {trial(1, TrialState::Paused), trial(2, TrialState::Paused)};
  trials.push_back(trial(3, TrialState::Paused));
  trials[0].curve = {0.5};
  trials[1].curve = {0.2};
  trials[2].curve = {0.9};
  auto offer = next_offer(plan, trials).value();
  EXPECT_EQ(offer.kind, Offer::Kind::Promote);
  EXPECT_EQ(offer.index, 1U);
  trials[2].state = TrialState::Waiting;
  EXPECT_EQ(next_offer(plan, trials)->kind, Offer::Kind::TakeOver);
  trials[2].state = TrialState::Running;
  trials[1].state = TrialState::Running;  // somebody else has it already
  offer = next_offer(plan, trials).value();
  EXPECT_EQ(offer.kind, Offer::Kind::None);
}

TEST(HandOut, the_end_says_why) {
  const std::vector trials = {trial(1, TrialState::Finished), trial(2, TrialState::Failed),
                              trial(3, TrialState::Running)};
  const auto offer = next_offer(plan_of(), trials).value();
  EXPECT_EQ(offer.kind, Offer::Kind::None);
  EXPECT_EQ(offer.end, "all 3 points are handed out");
}

TEST(HandOut, the_same_trials_give_the_same_offer) {
  const auto plan = parse_sweep(
                        "method: random\nseed: 7\nmetric: {name: loss, goal: minimize}\n"
                        "parameters: {lr: {min: 0.0, max: 1.0}}\n",
                        "sweep.yaml")
                        .value();
  const std::vector<Trial> trials;
  EXPECT_EQ(next_offer(plan, trials)->values, next_offer(plan, trials)->values);
}

}  // namespace
}  // namespace kedge::search
