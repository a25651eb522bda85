#include "search/internal/acquisition.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "core/random.h"
#include "search/internal/gaussian_process.h"
#include "search/internal/lbfgs.h"
#include "search/internal/probability.h"
#include "search/space.h"

namespace kedge::search {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr int kDrawn = 384;
constexpr int kDrawnNear = 48;       // of each beginning
constexpr std::size_t kClimbed = 8;  // the most promising of them
constexpr std::size_t kClimbedToTheTop = 3;
constexpr std::uint64_t kLevelsMax = 64;

// log(phi(z) + z Phi(z)), by its asymptotic series where it underflows: phi(z) / z^2 (1 - 3/z^2).
double log_improvement(double z) {
  if (z > -6) {
    return std::log(normal_pdf(z) + z * normal_cdf(z));
  }
  return -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi) - 2 * std::log(-z) +
         std::log1p(-3 / (z * z));
}

}  // namespace

double log_expected_improvement(double mean, double deviation, double best) {
  return std::log(deviation) + log_improvement((best - mean) / deviation);
}

Axes describe_axes(const Space& space) {
  Axes axes;
  axes.space = &space;
  for (const Parameter& axis : space.axes()) {
    axes.is_choice.push_back(axis.is_categorical());
    axes.counts.push_back(axis.count().value_or(0));
  }
  return axes;
}

VectorXd Axes::features(const Point& point) const {
  VectorXd x(static_cast<Index>(point.size()));
  for (std::size_t i = 0; i < point.size(); ++i) {
    x[static_cast<Index>(i)] =
        is_choice[i] ? static_cast<double>(space->axes()[i].index_at(point[i])) : point[i];
  }
  return x;
}

Point Axes::point_of(const VectorXd& features) const {
  Point point;
  for (std::size_t i = 0; i < is_choice.size(); ++i) {
    const double x = features[static_cast<Index>(i)];
    point.push_back(is_choice[i] ? space->axes()[i].quantile_of(static_cast<std::uint64_t>(x))
                                 : std::clamp(x, 0.0, 1 - 1e-12));
  }
  return point;
}

double Acquisition::value_of(const Prediction& prediction) const {
  return log_expected_improvement(prediction.mean, std::sqrt(prediction.variance), best_loss_);
}

double Acquisition::value(const VectorXd& x) const {
  return value_of(process_.predict(x));
}

VectorXd Acquisition::draw(Random& random) const {
  VectorXd x(static_cast<Index>(axes_.is_choice.size()));
  for (std::size_t i = 0; i < axes_.is_choice.size(); ++i) {
    x[static_cast<Index>(i)] =
        axes_.is_choice[i] ? static_cast<double>(random.below(axes_.counts[i])) : random.uniform();
  }
  return x;
}

// From wide to very close, since where the optimum lies is known better and better.
VectorXd Acquisition::draw_near(const VectorXd& center, Random& random) const {
  VectorXd x = center;
  const double width = std::pow(10.0, random.uniform(-3.5, -0.5));
  for (std::size_t i = 0; i < axes_.is_choice.size(); ++i) {
    const auto j = static_cast<Index>(i);
    if (axes_.is_choice[i]) {
      if (random.uniform() < 0.2) {
        x[j] = static_cast<double>(random.below(axes_.counts[i]));
      }
    } else {
      x[j] = std::clamp(x[j] + width * draw_normal(random), 0.0, 1.0);
    }
  }
  return x;
}

std::vector<VectorXd> Acquisition::climb(std::span<const VectorXd> starts) const {
  const auto dimension = static_cast<Index>(axes_.is_choice.size());
  const VectorXd low = VectorXd::Zero(dimension);
  VectorXd high = VectorXd::Ones(dimension);
  for (std::size_t i = 0; i < axes_.is_choice.size(); ++i) {
    if (axes_.is_choice[i]) {  // has no gradient, and stays
      high[static_cast<Index>(i)] = static_cast<double>(axes_.counts[i]);
    }
  }
  VectorXd mean_gradient(dimension);
  VectorXd variance_gradient(dimension);
  const auto objective = [&](const VectorXd& at, VectorXd& gradient) {
    const Prediction p = process_.predict(at, mean_gradient, variance_gradient);
    const double deviation = std::sqrt(p.variance);
    const double z = (best_loss_ - p.mean) / deviation;
    const double log_value = log_improvement(z);
    // d log EI = (-Phi(z) dmean + phi(z) ddeviation) / EI, with the ratios kept off underflow.
    const double log_phi = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
    const double phi_fraction = std::exp(log_phi - log_value);
    const double cdf_fraction =
        z > -6 ? normal_cdf(z) / std::exp(log_value) : phi_fraction * (1 - 1 / (z * z)) / -z;
    gradient = (cdf_fraction / deviation) * mean_gradient -
               (phi_fraction / (2 * p.variance)) * variance_gradient;
    return -(std::log(deviation) + log_value);
  };
  std::vector<VectorXd> tops;
  for (Minimum& found :
       minimize_best(objective, starts, kClimbedToTheTop, low, high,
                     {.iterations_max = 40, .gradient_min = 1e-5, .decrease_min = 1e-7})) {
    tops.push_back(std::move(found.x));
  }
  return tops;
}

void Acquisition::snap(VectorXd& x) const {
  for (std::size_t i = 0; i < axes_.is_choice.size(); ++i) {
    const auto j = static_cast<Index>(i);
    if (!axes_.is_choice[i] && axes_.counts[i] > 0) {
      const Parameter& axis = axes_.space->axes()[i];
      x[j] = axis.quantile_of(axis.index_at(std::min(x[j], 1 - 1e-12)));
    }
  }
}

// Goes along each axis of steps or choices as long as another level is better.
double Acquisition::try_levels(VectorXd& x, double value_now) const {
  for (std::size_t i = 0; i < axes_.is_choice.size(); ++i) {
    const std::uint64_t count = axes_.counts[i];
    if (count == 0) {
      continue;
    }
    const auto j = static_cast<Index>(i);
    const Parameter& axis = axes_.space->axes()[i];
    const std::uint64_t now = axes_.is_choice[i] ? static_cast<std::uint64_t>(x[j])
                                                 : axis.index_at(std::min(x[j], 1 - 1e-12));
    const bool is_small = count <= kLevelsMax;
    const std::uint64_t first = is_small || now < 2 ? 0 : now - 2;
    const std::uint64_t last = is_small ? count - 1 : std::min(count - 1, now + 2);
    for (std::uint64_t level = first; level <= last; ++level) {
      VectorXd other = x;
      other[j] = axes_.is_choice[i] ? static_cast<double>(level) : axis.quantile_of(level);
      const double candidate = value(other);
      if (candidate > value_now) {
        value_now = candidate;
        x = other;
      }
    }
  }
  return value_now;
}

Point Acquisition::maximize(std::span<const VectorXd> beginnings, Random& random) const {
  std::vector<VectorXd> candidates;
  for (int i = 0; i < kDrawn; ++i) {
    candidates.push_back(draw(random));
  }
  for (const VectorXd& beginning : beginnings) {
    for (int i = 0; i < kDrawnNear; ++i) {
      candidates.push_back(draw_near(beginning, random));
    }
  }
  for (VectorXd& x : candidates) {
    snap(x);
  }
  std::vector<double> values;
  for (const Prediction& prediction : process_.predict(candidates)) {
    values.push_back(value_of(prediction));
  }
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return values[i]; });
  std::pair<double, VectorXd> best = {values[order.front()], candidates[order.front()]};
  std::vector<VectorXd> starts;
  for (std::size_t i = 0; i < std::min(kClimbed, order.size()); ++i) {
    starts.push_back(candidates[order[i]]);
  }
  for (VectorXd& x : climb(starts)) {
    snap(x);
    const double at = try_levels(x, value(x));
    if (at > best.first) {
      best = {at, std::move(x)};
    }
  }
  return axes_.point_of(best.second);
}

}  // namespace kedge::search
