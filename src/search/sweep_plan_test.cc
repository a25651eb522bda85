#include "search/sweep_plan.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/propose.h"

namespace kedge::search {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  const auto plan = parse_sweep(text, "sweep.yaml");
  if (!plan) {
    return plan.error().message;
  }
  const auto checked = check_plan(*plan);
  return checked ? "" : checked.error().message;
}

// The exercise of the workshop: 2 * 3 * 2.
TEST(SweepPlan, the_workshops_grid_has_twelve_runs) {
  const auto plan = parse_sweep(R"(
program: train.py
method: grid
metric: {goal: maximize, name: Validation Accuracy}
parameters:
  learning_rate: {values: [0.01, 0.001]}
  batch_size: {values: [32, 64, 128]}
  finetune: {values: [true, false]}
)",
                                "sweep.yaml");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(expected_runs(*plan), 12);
  EXPECT_EQ(plan->metric.name, "Validation Accuracy");
  EXPECT_EQ(plan->metric.goal, Goal::Maximize);
  EXPECT_TRUE(plan->warnings.empty());
}

TEST(SweepPlan, every_key_of_the_format_is_read) {
  const auto plan = parse_sweep(R"(
name: n
description: d
project: p
entity: e
program: train.py
command: ["${env}", python3, "${program}", --quick, "${args}"]
method: bayes
metric: {name: loss, target: 0.1}
early_terminate: {type: hyperband, max_iter: 27, s: 2, strict: true}
run_cap: 20
parameters: {lr: {min: 0.0, max: 1.0}}
)",
                                "sweep.yaml");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->command, ElementsAre("${env}", "python3", "${program}", "--quick", "${args}"));
  EXPECT_EQ(plan->early_terminate.rule, Rule::Hyperband);
  EXPECT_EQ(plan->early_terminate.max_iter, 27);
  EXPECT_TRUE(plan->early_terminate.strict);
  EXPECT_TRUE(plan->metric.is_reached(0.1));
  EXPECT_FALSE(plan->metric.is_reached(0.2));
  EXPECT_EQ(expected_runs(*plan), 20);
}

TEST(SweepPlan, a_section_of_a_config_is_a_sweep_too) {
  const auto plan = parse_sweep(
      "model: {name: mlp}\nsweep: {method: grid, parameters: {optimizer.lr: [0.1, 0.2]}}",
      "c.yaml");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(expected_runs(*plan), 2);
}

TEST(SweepPlan, mistakes_are_named_with_their_line) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"parameters: {x: [1]}", "'method' is missing"},
      {"method: grid", "'parameters' is missing"},
      {"method: grid\nparameters: {}", "sweep.yaml:2: 'parameters' must name"},
      {"method: gird\nparameters: {x: [1, 2]}", "did you mean 'grid'"},
      {"method: grid\nparameters:\n  x: {min: 0.0, max: 1.0}", "'x' is continuous"},
      {"method: grid\nparameters:\n  x: {values: []}", "sweep.yaml:3: parameter 'x' needs a list"},
      {"method: grid\nparameters:\n  x: {vlaues: [1]}", "did you mean 'values'"},
      {"method: random\nparameters:\n  x: {min: 2, max: 1}", "has min 2 above max 1"},
      {"method: random\nparameters:\n  x: {min: 2}", "neither"},
      {"method: random\nparameters:\n  x: {distribution: uniform, min: 1}", "both 'min' and 'max'"},
      {"method: random\nparameters:\n  x: {distribution: log_uniform_values, min: 0, max: 1}",
       "min above 0"},
      {"method: random\nparameters:\n  x: {distribution: unifrom, min: 0, max: 1}",
       "did you mean 'uniform'"},
      {"method: random\nparameters:\n  x: {distribution: normal, sigma: 0}", "'sigma' above 0"},
      {"method: random\nparameters:\n  x: {distribution: q_uniform, min: 1, max: 2, q: 5}",
       "no multiple of 5"},
      {"method: random\nparameters:\n  x: {values: [1, 2], probabilities: [0.5, 0.6]}", "make 1.1"},
      {"method: random\nparameters:\n  x: {values: [1, 1]}", "has the value 1 twice"},
      {"method: random\nmetric: {goal: up, name: a}\nparameters: {x: [1]}", "neither minimize"},
      {"method: random\nearly_terminate: {type: hyperband, min_iter: 1}\nparameters: {x: [1]}",
       "needs a metric"},
      {"method: random\nrun_cap: 0\nparameters: {x: [1]}", "'run_cap' must be a whole number"},
      {"a: [", "not YAML"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(error_of(text), HasSubstr(expected)) << text;
  }
}

TEST(SweepPlan, a_key_without_effect_is_warned_of) {
  const auto plan = parse_sweep("method: grid\nrun_capp: 3\nparameters: {x: [1, 2]}", "sweep.yaml");
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->warnings, ElementsAre(HasSubstr("sweep.yaml:2: unknown key 'run_capp'; did you "
                                                    "mean 'run_cap'")));
}

}  // namespace
}  // namespace kedge::search
