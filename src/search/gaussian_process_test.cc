#include "search/internal/gaussian_process.h"

#include <cmath>
#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "core/random.h"
#include "search/internal/acquisition.h"
#include "search/internal/lbfgs.h"
#include "search/internal/warp.h"

namespace kedge::search {
namespace {

using Eigen::VectorXd;

// sklearn.gaussian_process.GaussianProcessRegressor(1.5 * Matern([0.4, 0.8], nu=2.5)
// + 0.3 * Matern([0.08, 0.16], nu=1.5) + 0.35 * Matern([0.1, inf], nu=2.5)
// + 0.35 * Matern([inf, 0.2], nu=2.5), alpha=1e-3, optimizer=None) at (0.3, 0.6).
TEST(GaussianProcess, predicts_what_scikit_learn_predicts) {
  Samples samples{Eigen::MatrixXd(4, 2), VectorXd(4)};
  samples.x << 0.1, 0.2, 0.5, 0.9, 0.8, 0.3, 0.4, 0.5;
  samples.y << 1, -0.5, 0.3, 0.7;
  const KernelShape shape{.log_lengths = VectorXd{{std::log(0.4), std::log(0.8)}},
                          .log_scale = std::log(1.5),
                          .log_rough = std::log(0.3),
                          .log_additive = std::log(0.7),
                          .log_ratio = std::log(0.25),
                          .log_noise = std::log(1e-3 - 1e-9)};
  const std::vector<bool> is_choice = {false, false};
  const GaussianProcess process(samples, shape, is_choice);
  VectorXd x(2);
  x << 0.3, 0.6;
  EXPECT_NEAR(process.predict(x).mean, 0.5751283761181127, 1e-9);
  EXPECT_NEAR(std::sqrt(process.predict(x).variance), 0.9282348217044862, 1e-9);
  const std::vector<VectorXd> both = {VectorXd::Constant(2, 0.7), x};
  EXPECT_NEAR(process.predict(both)[1].mean, process.predict(x).mean, 1e-12);
  EXPECT_NEAR(process.predict(both)[1].variance, process.predict(x).variance, 1e-12);
}

TEST(GaussianProcess, gradients_are_those_of_its_predictions) {
  Samples samples{Eigen::MatrixXd(4, 2), VectorXd(4)};
  samples.x << 0.1, 0.2, 0.5, 0.9, 0.8, 0.3, 0.4, 0.5;
  samples.y << 1, -0.5, 0.3, 0.7;
  const std::vector<bool> is_choice = {false, false};
  const GaussianProcess process(samples, {VectorXd::Constant(2, -0.5), 0.2, -1.5, -1.0, -0.7, -8},
                                is_choice);
  VectorXd x(2);
  x << 0.33, 0.61;
  VectorXd mean_gradient(2);
  VectorXd variance_gradient(2);
  process.predict(x, mean_gradient, variance_gradient);
  constexpr double kStep = 1e-6;
  for (int j = 0; j < 2; ++j) {
    VectorXd up = x;
    VectorXd down = x;
    up[j] += kStep;
    down[j] -= kStep;
    EXPECT_NEAR(mean_gradient[j],
                (process.predict(up).mean - process.predict(down).mean) / (2 * kStep), 1e-6);
    EXPECT_NEAR(variance_gradient[j],
                (process.predict(up).variance - process.predict(down).variance) / (2 * kStep),
                1e-6);
  }
}

// Six bumps along each of five axes, of which a function of all five at once would see nothing: the
// mean alone is wrong by 0.8.
TEST(GaussianProcess, learns_a_sum_over_the_axes_from_few_points) {
  const auto bumps = [](const VectorXd& x) {
    return (x.array() - 0.4).square().sum() - 0.1 * (40 * x.array()).cos().sum();
  };
  Random random({7});
  Samples samples{Eigen::MatrixXd(80, 5), VectorXd(80)};
  for (Eigen::Index i = 0; i < 80; ++i) {
    for (Eigen::Index j = 0; j < 5; ++j) {
      samples.x(i, j) = random.uniform();
    }
    samples.y[i] = bumps(samples.x.row(i).transpose());
  }
  const double mean = samples.y.mean();
  const double deviation = std::sqrt((samples.y.array() - mean).square().mean());
  samples.y = (samples.y.array() - mean) / deviation;
  const std::vector<bool> is_choice(5, false);
  const GaussianProcess process(samples, fit_shape(samples, is_choice).shape, is_choice);
  double error = 0;
  for (int i = 0; i < 200; ++i) {
    VectorXd x(5);
    for (double& value : x) {
      value = random.uniform();
    }
    error += std::abs(process.predict(x).mean - (bumps(x) - mean) / deviation) / 200;
  }
  EXPECT_LT(error, 0.4);
}

TEST(GaussianProcess, is_sure_of_what_it_believes) {
  Samples samples{Eigen::MatrixXd(2, 1), VectorXd(2)};
  samples.x << 0.1, 0.9;
  samples.y << 1, -1;
  const std::vector<bool> is_choice = {false};
  GaussianProcess process(samples, {VectorXd::Constant(1, -1.0), 0, -2, -2, -1, -10}, is_choice);
  const VectorXd x = VectorXd::Constant(1, 0.4);
  const Prediction before = process.predict(x);
  process.believe(x);
  EXPECT_NEAR(process.predict(x).mean, before.mean, 1e-3);
  EXPECT_LT(process.predict(x).variance, 0.01 * before.variance);
}

// A process that is given the prediction as one more sample, from the start.
TEST(GaussianProcess, what_it_believes_is_a_sample_like_others) {
  Samples samples{Eigen::MatrixXd(4, 2), VectorXd(4)};
  samples.x << 0.1, 0.2, 0.5, 0.9, 0.8, 0.3, 0.4, 0.5;
  samples.y << 1, -0.5, 0.3, 0.7;
  const KernelShape shape{VectorXd::Constant(2, -0.5), 0.2, -1.5, -1.0, -0.7, -6};
  const std::vector<bool> is_choice = {false, false};
  GaussianProcess believing(samples, shape, is_choice);
  for (const double at : {0.3, 0.65}) {
    const VectorXd x = VectorXd::Constant(2, at);
    const auto count = samples.y.size();
    samples.x.conservativeResize(count + 1, Eigen::NoChange);
    samples.x.row(count) = x.transpose();
    samples.y.conservativeResize(count + 1);
    samples.y[count] = believing.predict(x).mean;
    believing.believe(x);
  }
  const GaussianProcess told(samples, shape, is_choice);
  const VectorXd x{{0.35, 0.55}};
  EXPECT_NEAR(believing.predict(x).mean, told.predict(x).mean, 1e-9);
  EXPECT_NEAR(believing.predict(x).variance, told.predict(x).variance, 1e-9);
}

// scipy: log(s * (z * norm.cdf(z) + norm.pdf(z))), and with mpmath far out.
TEST(Acquisition, log_expected_improvement_holds_where_the_expectation_underflows) {
  EXPECT_NEAR(log_expected_improvement(0.5, 0.2, 0.3), -4.094558938146742, 1e-12);
  EXPECT_NEAR(log_expected_improvement(10, 0.5, 0), -207.61098568998506, 1e-4);
}

// Rosenbrock's function; its minimum is at (1, 1).
TEST(Lbfgs, finds_the_minimum_of_a_curved_valley) {
  const auto rosenbrock = [](const VectorXd& x, VectorXd& g) {
    const double a = 1 - x[0];
    const double b = x[1] - x[0] * x[0];
    g[0] = -2 * a - 400 * x[0] * b;
    g[1] = 200 * b;
    return a * a + 100 * b * b;
  };
  VectorXd start(2);
  start << -1.2, 1;
  const VectorXd low = VectorXd::Constant(2, -5);
  const VectorXd high = VectorXd::Constant(2, 5);
  const Minimum found =
      minimize(rosenbrock, start, low, high, {.iterations_max = 200, .decrease_min = 0});
  EXPECT_NEAR(found.x[0], 1, 1e-4);
  EXPECT_NEAR(found.x[1], 1, 1e-4);
  // In a box that leaves it out, the minimum lies on the side: x = 0.5, y = 0.25.
  const Minimum boxed = minimize(rosenbrock, start, low, VectorXd::Constant(2, 0.5),
                                 {.iterations_max = 200, .decrease_min = 0});
  EXPECT_NEAR(boxed.x[0], 0.5, 1e-4);
  EXPECT_NEAR(boxed.x[1], 0.25, 1e-4);
}

// (x^2 - 1)^2 + 0.3 x has its minima where 4 x^3 - 4 x + 0.3 = 0: the higher one at 0.960150, the
// lower one at -1.035579 with the value -0.305428.
TEST(Lbfgs, of_many_starts_the_deepest_valley_comes_first) {
  const auto valleys = [](const VectorXd& x, VectorXd& g) {
    g[0] = 4 * x[0] * (x[0] * x[0] - 1) + 0.3;
    return std::pow(x[0] * x[0] - 1, 2) + 0.3 * x[0];
  };
  const std::vector<VectorXd> starts = {VectorXd::Constant(1, 1.4), VectorXd::Constant(1, 0.5),
                                        VectorXd::Constant(1, -0.4)};
  const auto found = minimize_best(valleys, starts, 2, VectorXd::Constant(1, -2),
                                   VectorXd::Constant(1, 2), {.decrease_min = 0});
  ASSERT_EQ(found.size(), 2);
  EXPECT_NEAR(found[0].x[0], -1.035579, 1e-5);
  EXPECT_NEAR(found[0].value, -0.305428, 1e-6);
  EXPECT_NEAR(found[1].x[0], 0.960150, 1e-5);
}

// [1, 2, 3, 10, 100] are squashed to 0, 0.5, 1, 1 + ln 4.5 and 1 + ln 49.5; what
// scipy.stats.yeojohnson makes of those, standardised before and after.
TEST(Warp, agrees_with_scipy) {
  EXPECT_NEAR(yeo_johnson(2, 0.5), 1.4641016151377544, 1e-12);
  EXPECT_NEAR(yeo_johnson(-2, 0.5), -2.797434948471088, 1e-12);
  const std::vector<double> warped = warp_losses({1, 2, 3, 10, 100}, 0.5).losses;
  const std::vector<double> expected = {-1.283874, -0.716793, -0.232671, 0.735983, 1.497354};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(warped[i], expected[i], 1e-3);
  }
}

// By differences: the 20th of 40 losses is moved a little, which hardly changes the power.
TEST(Warp, slopes_are_those_of_the_warp) {
  std::vector<double> losses;
  for (int i = 0; i < 40; ++i) {
    losses.push_back(0.01 * i * i);
  }
  for (const double knee : {0.5, 0.1}) {
    const Warped warped = warp_losses(losses, knee);
    const double slope = (warped.losses[21] - warped.losses[19]) / (losses[21] - losses[19]);
    EXPECT_NEAR(warped.log_slopes[20], std::log(slope), 0.05);
  }
}

}  // namespace
}  // namespace kedge::search
