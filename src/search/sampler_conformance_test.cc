// What every sampler must do, over the registry: a new one is tested without an edit.
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "search/propose.h"
#include "search/sampler.h"

namespace kedge::search {
namespace {

std::vector<std::string> sampler_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : Samplers::all()) {
    names.emplace_back(name);
  }
  return names;
}

SweepPlan plan_of(const std::string& method, const std::string& parameters) {
  auto plan = parse_sweep(
      "metric: {name: loss}\nmethod: " + method + "\nparameters:\n" + parameters, "sweep.yaml");
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
  return std::move(plan).value();
}

constexpr const char* kMixed =
    "  lr: {distribution: log_uniform_values, min: 1e-5, max: 1}\n"
    "  width: {min: 16, max: 512}\n"
    "  optimizer: {values: [adam, sgd, lion]}\n"
    "  dropout: {distribution: q_uniform, min: 0, max: 0.5, q: 0.05}\n"
    "  noise: {mu: 0, sigma: 1}\n";
constexpr const char* kFinite = "  a: [1, 2, 3]\n  b: {min: 1, max: 4}\n  c: [x, y]\n";

std::string space_for(const std::string& method) {
  return method == "grid" ? kFinite : kMixed;
}

double loss_of(const nlohmann::json& values) {
  Random random(mix64(std::hash<std::string>()(identity_of(values))));
  return random.uniform();
}

class SamplerConformance : public ::testing::TestWithParam<std::string> {};

TEST_P(SamplerConformance, the_same_history_gives_the_same_proposal) {
  const SweepPlan plan = plan_of(GetParam(), space_for(GetParam()));
  std::vector<Trial> trials;
  for (int i = 1; i <= 20; ++i) {
    const auto one = propose(plan, trials, 1);
    std::vector<Trial> reversed(trials.rbegin(), trials.rend());
    const auto other = propose(plan, reversed, 1);
    ASSERT_TRUE(one) << one.error().message;
    ASSERT_EQ(one->values.size(), 1);
    EXPECT_EQ(one->values, other->values) << "the order of the list does not matter";
    trials.push_back({.number = i,
                      .values = one->values[0],
                      .state = i % 5 == 0 ? TrialState::Running : TrialState::Finished,
                      .metric = loss_of(one->values[0])});
  }
}

TEST_P(SamplerConformance, proposals_lie_in_the_space) {
  const SweepPlan plan = plan_of(GetParam(), space_for(GetParam()));
  const auto proposals = propose(plan, {}, 20);
  ASSERT_TRUE(proposals);
  for (const nlohmann::json& values : proposals->values) {
    EXPECT_TRUE(plan.space.locate(values)) << values;
  }
}

TEST_P(SamplerConformance, a_finite_space_is_handed_out_once_and_then_ends) {
  SweepPlan plan = plan_of(GetParam(), kFinite);
  std::set<std::string> seen;
  std::vector<Trial> trials;
  for (;;) {
    const auto proposals = propose(plan, trials, 5);
    ASSERT_TRUE(proposals) << proposals.error().message;
    for (const nlohmann::json& values : proposals->values) {
      EXPECT_TRUE(seen.insert(identity_of(values)).second) << values;
      trials.push_back({.number = static_cast<std::int64_t>(trials.size()) + 1,
                        .values = values,
                        .state = TrialState::Finished,
                        .metric = loss_of(values)});
    }
    if (proposals->is_end()) {
      break;
    }
  }
  EXPECT_EQ(seen.size(), 24);
}

TEST_P(SamplerConformance, many_at_once_are_all_different) {
  const SweepPlan plan =
      plan_of(GetParam(), GetParam() == "grid" ? "  a: {min: 1, max: 1000}\n" : kMixed);
  std::vector<Trial> trials;
  const auto first = propose(plan, {}, 20);
  ASSERT_TRUE(first);
  std::set<std::string> seen;
  for (const nlohmann::json& values : first->values) {
    seen.insert(identity_of(values));
    trials.push_back({.number = static_cast<std::int64_t>(trials.size()) + 1,
                      .values = values,
                      .state = TrialState::Finished,
                      .metric = loss_of(values)});
  }
  const auto proposals = propose(plan, trials, 64);
  ASSERT_TRUE(proposals);
  for (const nlohmann::json& values : proposals->values) {
    seen.insert(identity_of(values));
  }
  EXPECT_EQ(seen.size(), 84);
}

TEST_P(SamplerConformance, failures_and_numbers_that_are_none_are_borne) {
  const SweepPlan plan = plan_of(GetParam(), space_for(GetParam()));
  std::vector<Trial> trials;
  for (int i = 1; i <= 16; ++i) {
    const auto one = propose(plan, trials, 1);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->values.size(), 1);
    Trial trial{.number = i, .values = one->values[0], .state = TrialState::Finished};
    trial.metric = loss_of(trial.values);
    if (i % 3 == 0) {
      trial.metric = i % 2 == 0 ? std::nan("") : INFINITY;
    } else if (i % 4 == 0) {
      trial.state = TrialState::Failed;
      trial.metric.reset();
    }
    trials.push_back(trial);
  }
  SUCCEED();
}

TEST_P(SamplerConformance, run_cap_ends_it) {
  SweepPlan plan = plan_of(GetParam(), space_for(GetParam()));
  plan.run_cap = 3;
  const auto proposals = propose(plan, {}, 5);
  ASSERT_TRUE(proposals);
  EXPECT_EQ(proposals->values.size(), 3);
  EXPECT_EQ(proposals->end, "run_cap 3 is reached");
}

INSTANTIATE_TEST_SUITE_P(All, SamplerConformance, ::testing::ValuesIn(sampler_names()),
                         [](const auto& info) { return info.param; });

TEST(Propose, the_grid_comes_in_the_files_order_the_last_axis_fastest) {
  const SweepPlan plan = plan_of("grid", "  z: [1, 2]\n  a: [x, y]\n");
  const auto proposals = propose(plan, {}, 9);
  ASSERT_TRUE(proposals);
  ASSERT_EQ(proposals->values.size(), 4);
  EXPECT_EQ(proposals->values[0], (nlohmann::json{{"z", 1}, {"a", "x"}}));
  EXPECT_EQ(proposals->values[1], (nlohmann::json{{"z", 1}, {"a", "y"}}));
  EXPECT_EQ(proposals->values[2], (nlohmann::json{{"z", 2}, {"a", "x"}}));
  EXPECT_EQ(proposals->end, "all 4 points are handed out");
}

// How many of bayes' first trials are the points that sobol would give.
int count_design_points(std::optional<std::int64_t> run_cap) {
  SweepPlan bayes = plan_of("bayes", "  x: {min: 0.0, max: 1.0}\n  y: {min: 0.0, max: 1.0}\n");
  bayes.run_cap = run_cap;
  SweepPlan sobol = bayes;
  sobol.method = "sobol";
  std::vector<Trial> trials;
  for (int i = 1; i <= 20; ++i) {
    const nlohmann::json values = propose(bayes, trials, 1)->values.at(0);
    if (values != propose(sobol, trials, 1)->values.at(0)) {
      return i - 1;
    }
    trials.push_back(
        {.number = i, .values = values, .state = TrialState::Finished, .metric = loss_of(values)});
  }
  return 20;
}

TEST(Propose, a_sweep_that_will_be_long_looks_around_longer) {
  EXPECT_EQ(count_design_points(std::nullopt), 4);
  EXPECT_EQ(count_design_points(20), 4);
  EXPECT_EQ(count_design_points(30), 6);
  EXPECT_EQ(count_design_points(1000), 8);
}

TEST(Propose, a_reached_target_ends_the_sweep) {
  SweepPlan plan = plan_of("random", kMixed);
  plan.metric.target = 0.5;
  const std::vector<Trial> trials = {
      {.number = 1, .values = {{"lr", 0.1}}, .state = TrialState::Finished, .metric = 0.4}};
  const auto proposals = propose(plan, trials, 1);
  ASSERT_TRUE(proposals);
  EXPECT_TRUE(proposals->values.empty());
  EXPECT_EQ(proposals->end, "trial 1 reached the target: loss is 0.4");
}

}  // namespace
}  // namespace kedge::search
