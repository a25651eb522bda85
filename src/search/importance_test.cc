#include "search/importance.h"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "search/internal/probability.h"
#include "search/propose.h"
#include "search/seeds.h"

namespace kedge::search {
namespace {

SweepPlan plan_of(const std::string& parameters) {
  return parse_sweep("method: sobol\nmetric: {name: y}\nparameters:\n" + parameters, "s.yaml")
      .value();
}

template <typename Function>
ImportanceReport measure(const SweepPlan& plan, int count, Function function) {
  std::vector<Trial> trials;
  const auto proposals = propose(plan, {}, count);
  for (const nlohmann::json& values : proposals->values) {
    trials.push_back({.number = static_cast<std::int64_t>(trials.size()) + 1,
                      .values = values,
                      .state = TrialState::Finished,
                      .metric = function(values)});
  }
  const auto report = find_importance(plan, trials);
  EXPECT_TRUE(report.has_value());
  return report.value_or(ImportanceReport{});
}

const Importance& find(const ImportanceReport& report, const std::string& name) {
  for (const Importance& importance : report.parameters) {
    if (importance.name == name) {
      return importance;
    }
  }
  ADD_FAILURE() << name;
  return report.parameters.front();
}

// Twelve trials of a grid, as small sweeps are.
TEST(Importance, estimates_lie_in_their_intervals_and_numbers_to_choose_from_have_a_sign) {
  const SweepPlan plan = parse_sweep(
                             "method: grid\nmetric: {name: y}\nparameters:\n"
                             "  lr: {values: [0.1, 0.01]}\n  batch: {values: [32, 64, 128]}\n"
                             "  head: {values: [flat, deep]}\n",
                             "s.yaml")
                             .value();
  const auto report = measure(plan, 12, [](const nlohmann::json& v) {
    const double noise = std::fmod(v["batch"].get<double>() * 7.3, 1.0);
    return -3 * v["lr"].get<double>() + 0.05 * noise + (v["head"] == "deep" ? 0.01 : 0);
  });
  for (const Importance& one : report.parameters) {
    for (const Estimate& estimate : {one.correlation, one.permutation, one.variance_fraction}) {
      EXPECT_LE(estimate.low, estimate.value) << one.name;
      EXPECT_LE(estimate.value, estimate.high) << one.name;
    }
  }
  EXPECT_LT(find(report, "lr").correlation.value, -0.9);  // a larger rate, a smaller y
  EXPECT_TRUE(find(report, "lr").has_sign);
  EXPECT_FALSE(find(report, "head").has_sign);
}

// y = 3a + 2b + c of uniform a, b, c: the variance falls apart as 9 : 4 : 1.
TEST(Importance, shares_of_a_sum_are_the_squares_of_its_slopes) {
  const SweepPlan plan = plan_of(
      "  a: {min: 0.0, max: 1.0}\n  b: {min: 0.0, max: 1.0}\n  c: {min: 0.0, max: 1.0}\n"
      "  idle: {min: 0.0, max: 1.0}\n");
  const auto report = measure(plan, 400, [](const nlohmann::json& v) {
    return 3 * v["a"].get<double>() + 2 * v["b"].get<double>() + v["c"].get<double>();
  });
  EXPECT_NEAR(find(report, "a").variance_fraction.value, 9.0 / 14, 0.06);
  EXPECT_NEAR(find(report, "b").variance_fraction.value, 4.0 / 14, 0.06);
  EXPECT_NEAR(find(report, "c").variance_fraction.value, 1.0 / 14, 0.05);
  EXPECT_LT(find(report, "idle").variance_fraction.value, 0.02);
  EXPECT_NEAR(find(report, "a").permutation.value, 9.0 / 14, 0.08);
  // Correlations of a sum of independent terms: 3 / sqrt(14) and so on.
  EXPECT_NEAR(find(report, "a").correlation.value, 3 / std::sqrt(14.0), 0.03);
  EXPECT_NEAR(find(report, "c").correlation.value, 1 / std::sqrt(14.0), 0.03);
  EXPECT_EQ(report.parameters.front().name, "a");
  EXPECT_GT(report.explained, 0.9);
}

// Ishigami's function, a = 7, b = 0.1: first-order fractions 0.3139, 0.4424 and 0 (Saltelli et
// al.).
TEST(Importance, agrees_with_ishigamis_function) {
  const SweepPlan plan = plan_of(
      "  x1: {min: -3.14159265, max: 3.14159265}\n  x2: {min: -3.14159265, max: 3.14159265}\n"
      "  x3: {min: -3.14159265, max: 3.14159265}\n");
  const auto report = measure(plan, 1000, [](const nlohmann::json& v) {
    const double s1 = std::sin(v["x1"].get<double>());
    const double s2 = std::sin(v["x2"].get<double>());
    return s1 + 7 * s2 * s2 + 0.1 * std::pow(v["x3"].get<double>(), 4) * s1;
  });
  EXPECT_NEAR(find(report, "x1").variance_fraction.value, 0.3139, 0.08);
  EXPECT_NEAR(find(report, "x2").variance_fraction.value, 0.4424, 0.08);
  EXPECT_NEAR(find(report, "x3").variance_fraction.value, 0, 0.05);
}

// adam 0, sgd 1, lion 2, and a slope of 1: variances 2/3 and 1/12.
TEST(Importance, choices_are_taken_apart_too) {
  const SweepPlan plan = plan_of("  o: [adam, sgd, lion]\n  x: {min: 0.0, max: 1.0}\n");
  const auto report = measure(plan, 300, [](const nlohmann::json& v) {
    const std::string o = v["o"];
    return (o == "adam" ? 0 : o == "sgd" ? 1 : 2) + v["x"].get<double>();
  });
  EXPECT_NEAR(find(report, "o").variance_fraction.value, 8.0 / 9, 0.04);
  EXPECT_NEAR(find(report, "x").variance_fraction.value, 1.0 / 9, 0.04);
  EXPECT_NEAR(find(report, "o").correlation.value, std::sqrt(8.0 / 9), 0.03);
}

TEST(Importance, too_few_trials_are_said) {
  const SweepPlan plan = plan_of("  a: {min: 0.0, max: 1.0}\n");
  EXPECT_FALSE(find_importance(plan, {}));
}

// scipy.stats.t.interval(0.95, 4, loc=3, scale=sem) for 1..5; statsmodels' multipletests(holm).
TEST(Seeds, intervals_and_corrections_agree_with_scipy) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const Estimate mean = mean_interval(values);
  EXPECT_NEAR(mean.low, 1.036756838522439, 1e-9);
  EXPECT_NEAR(mean.high, 4.9632431614775605, 1e-9);
  const std::vector<double> corrected = correct_holm({0.01, 0.04, 0.03, 0.005});
  EXPECT_NEAR(corrected[0], 0.03, 1e-12);
  EXPECT_NEAR(corrected[1], 0.06, 1e-12);
  EXPECT_NEAR(corrected[2], 0.06, 1e-12);
  EXPECT_NEAR(corrected[3], 0.02, 1e-12);
}

// 4000 sets of 5 draws: 95% of the intervals hold the true mean, give or take 3 standard errors.
TEST(Seeds, intervals_cover_as_stated) {
  Random random(7);
  int covered = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 5; ++k) {
      values.push_back(2 + 0.5 * draw_normal(random));
    }
    const Estimate mean = mean_interval(values);
    covered += mean.low <= 2 && 2 <= mean.high ? 1 : 0;
  }
  EXPECT_NEAR(covered / 4000.0, 0.95, 0.0104);
}

std::vector<Trial> trials_of(const std::vector<std::vector<double>>& results) {
  std::vector<Trial> trials;
  for (std::size_t setting = 0; setting < results.size(); ++setting) {
    for (std::size_t seed = 0; seed < results[setting].size(); ++seed) {
      trials.push_back({.number = static_cast<std::int64_t>(trials.size()) + 1,
                        .values = {{"lr", setting}, {"seed", seed}},
                        .state = TrialState::Finished,
                        .metric = results[setting][seed]});
    }
  }
  return trials;
}

// scipy.stats.ttest_rel([.9, .8, .85, .95], [.85, .76, .8, .89]).pvalue.
TEST(Seeds, settings_are_compared_by_pairs_of_seeds) {
  const Metric metric{.name = "accuracy", .goal = Goal::Maximize};
  const auto report =
      compare_seeds(metric, trials_of({{0.85, 0.76, 0.8, 0.89}, {0.9, 0.8, 0.85, 0.95}}), "seed");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->settings[0].values["lr"], 1);
  EXPECT_NEAR(report->settings[0].mean.value, 0.875, 1e-12);
  ASSERT_EQ(report->comparisons.size(), 1);
  EXPECT_TRUE(report->comparisons[0].is_paired);
  EXPECT_TRUE(report->comparisons[0].is_settled);
  EXPECT_NEAR(report->comparisons[0].p, 0.0011722164447168716, 1e-9);
}

TEST(Seeds, says_how_many_more_are_needed) {
  const Metric metric{.name = "accuracy", .goal = Goal::Maximize};
  const auto report =
      compare_seeds(metric, trials_of({{0.80, 0.90, 0.82}, {0.84, 0.89, 0.86}}), "seed");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->comparisons.size(), 1);
  EXPECT_FALSE(report->comparisons[0].is_settled);
  // The power by scipy.stats.nct passes 0.8 at n = 15.
  ASSERT_TRUE(report->comparisons[0].more_seeds);
  EXPECT_NEAR(static_cast<double>(*report->comparisons[0].more_seeds + 3), 15, 1.1);
}

}  // namespace
}  // namespace kedge::search
