#include "search/space.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "search/internal/probability.h"
#include "search/sweep_plan.h"

namespace kedge::search {
namespace {

SweepPlan plan_of(const std::string& parameters) {
  const auto plan = parse_sweep("method: random\nparameters:\n" + parameters, "sweep.yaml");
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return plan.value_or(SweepPlan{});
}

Parameter axis_of(const std::string& spec) {
  return plan_of("  x: " + spec + "\n").space.axes().at(0);
}

// scipy.stats.norm.ppf, beta.cdf, beta.ppf, t.cdf, t.ppf.
TEST(Probability, agrees_with_scipy) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-11);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(beta_cdf(0.3, 2, 5), 0.579825, 1e-12);
  EXPECT_NEAR(beta_cdf(0.9, 0.5, 0.5), 0.7951672353008666, 1e-12);
  EXPECT_NEAR(beta_quantile(0.25, 2, 3), 0.24302208375607628, 1e-10);
  EXPECT_NEAR(student_t_cdf(2, 5), 0.9490302605850709, 1e-12);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764451051977987, 1e-9);
}

// scipy.stats.loguniform(1e-4, 1e-1).ppf(0.3), norm(1, 2).ppf(0.3), lognorm(s=2, scale=e).ppf(0.3).
TEST(Parameter, values_are_the_quantiles_of_its_distribution) {
  EXPECT_NEAR(axis_of("{distribution: log_uniform_values, min: 1e-4, max: 0.1}").value_at(0.3),
              0.0007943282347242816, 1e-15);
  EXPECT_NEAR(axis_of("{distribution: log_uniform, min: -9.210340371976182, max: "
                      "-2.302585092994046}")
                  .value_at(0.3),
              0.0007943282347242816, 1e-15);
  EXPECT_NEAR(axis_of("{distribution: normal, mu: 1, sigma: 2}").value_at(0.3),
              -0.04880102541608178, 1e-12);
  EXPECT_NEAR(axis_of("{distribution: log_normal, mu: 1, sigma: 2}").value_at(0.3),
              0.9523706083926984, 1e-12);
  EXPECT_NEAR(axis_of("{distribution: beta, a: 2, b: 3}").value_at(0.25), 0.24302208375607628,
              1e-10);
  EXPECT_NEAR(axis_of("{min: 1.0, max: 3.0}").value_at(0.25), 1.5, 1e-15);
}

// log(1/x) is uniform: at the quantile 0 of x it is at its maximum.
TEST(Parameter, the_inverse_logarithm_runs_the_other_way) {
  const Parameter p = axis_of("{distribution: inv_log_uniform, min: 0, max: 2}");
  EXPECT_NEAR(p.value_at(0), std::exp(-2), 1e-15);
  EXPECT_NEAR(p.value_at(0.75), std::exp(-0.5), 1e-15);
  const Parameter values = axis_of("{distribution: inv_log_uniform_values, min: 0.01, max: 1}");
  EXPECT_NEAR(values.value_at(0.5), 0.1, 1e-15);
}

TEST(Parameter, whole_bounds_give_whole_numbers_bounds_included) {
  const Parameter p = axis_of("{min: 3, max: 5}");
  EXPECT_EQ(p.value_at(0), 3);
  EXPECT_EQ(p.value_at(0.34), 4);
  EXPECT_EQ(p.value_at(0.999999), 5);
  EXPECT_TRUE(p.value_at(0.5).is_number_integer());
  EXPECT_EQ(p.count(), 3);
}

TEST(Parameter, q_gives_multiples_that_stay_inside_the_bounds) {
  const Parameter p = axis_of("{distribution: q_uniform, min: 0.0, max: 1.0, q: 0.1}");
  EXPECT_EQ(p.count(), 11);
  EXPECT_EQ(p.value_at(0.31).dump(), "0.3");
  EXPECT_EQ(p.value_at(0.99), 1.0);
  const Parameter coarse = axis_of("{distribution: q_uniform, min: 1, max: 11, q: 4}");
  EXPECT_EQ(coarse.count(), 2);
  EXPECT_EQ(coarse.value_at(0), 4);
  EXPECT_EQ(coarse.value_at(0.999), 8);
  const Parameter bell = axis_of("{distribution: q_normal, mu: 10, sigma: 3}");
  EXPECT_EQ(bell.value_at(0.5), 10);
  EXPECT_TRUE(bell.value_at(0.2).is_number_integer());
  EXPECT_EQ(bell.count(), std::nullopt);
}

TEST(Parameter, choices_have_their_probabilities) {
  const Parameter p = axis_of("{values: [adam, sgd, lion], probabilities: [0.2, 0.5, 0.3]}");
  EXPECT_EQ(p.value_at(0.1), "adam");
  EXPECT_EQ(p.value_at(0.25), "sgd");
  EXPECT_EQ(p.value_at(0.69), "sgd");
  EXPECT_EQ(p.value_at(0.71), "lion");
}

TEST(Parameter, find_gives_a_quantile_of_the_same_value) {
  for (const std::string spec :
       {"{values: [adam, 3, 0.5, true, null], probabilities: [0.1, 0.2, 0.3, 0.2, 0.2]}",
        "{min: 1, max: 1000}", "{min: 0.0, max: 1.0}",
        "{distribution: q_uniform, min: 0, max: 1, "
        "q: 0.05}",
        "{distribution: log_uniform_values, min: 1e-6, max: 1}",
        "{distribution: q_log_uniform_values, min: 1, max: 512, q: 8}",
        "{distribution: inv_log_uniform, min: 1, max: 3}", "{mu: 3, sigma: 0.1}",
        "{distribution: q_log_normal, mu: 2, sigma: 1}",
        "{distribution: q_beta, a: 1, b: 2, q: "
        "0.25}"}) {
    const Parameter p = axis_of(spec);
    for (const double u : {0.0, 0.013, 0.2, 0.5, 0.77, 0.999}) {
      const nlohmann::json value = p.value_at(u);
      const auto found = p.find(value);
      ASSERT_TRUE(found.has_value()) << spec << " " << value;
      const nlohmann::json again = p.value_at(*found);
      if (value.is_number_float()) {
        EXPECT_NEAR(again.get<double>(), value.get<double>(),
                    1e-9 * (1 + std::abs(value.get<double>())))
            << spec;
      } else {
        EXPECT_EQ(again, value) << spec;
      }
    }
  }
  EXPECT_FALSE(axis_of("{min: 1, max: 9}").find(10));
  EXPECT_FALSE(axis_of("{min: 1, max: 9}").find("x"));
  EXPECT_FALSE(axis_of("{values: [1, 2]}").find(true));
}

TEST(Space, nested_parameters_make_nested_values) {
  const Space space = plan_of(
                          "  net: {parameters: {depth: {values: [2, 4]}, width: {value: 64}}}\n"
                          "  optimizer.lr: [0.1, 0.01]\n  epochs: 3\n")
                          .space;
  EXPECT_EQ(space.count(), 4);
  const nlohmann::json values = space.values_at(space.grid_point(1));
  EXPECT_EQ(values, nlohmann::json::parse(
                        R"({"net":{"depth":2,"width":64},"optimizer.lr":0.01,"epochs":3})"));
  EXPECT_EQ(flatten(values)["net.depth"], 2);
  ASSERT_TRUE(space.locate(values));
  EXPECT_EQ(space.values_at(*space.locate(values)), values);
}

}  // namespace
}  // namespace kedge::search
