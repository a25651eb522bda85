#include "search/internal/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

namespace kedge::search {
namespace {

using Eigen::VectorXd;

constexpr int kFewSteps = 8;

struct Correction {
  VectorXd step;
  VectorXd change;  // of the gradient
  double rho = 0;
};

// The two-loop recursion (Nocedal 1980): an approximation of -H^-1 g.
VectorXd find_direction(const VectorXd& gradient, const std::deque<Correction>& memory) {
  VectorXd direction = -gradient;
  std::vector<double> alphas(memory.size());
  for (std::size_t i = memory.size(); i-- > 0;) {
    alphas[i] = memory[i].rho * memory[i].step.dot(direction);
    direction -= alphas[i] * memory[i].change;
  }
  if (!memory.empty()) {
    const Correction& last = memory.back();
    direction *= last.step.dot(last.change) / last.change.squaredNorm();
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const double beta = memory[i].rho * memory[i].change.dot(direction);
    direction += (alphas[i] - beta) * memory[i].step;
  }
  return direction;
}

// Components that push out of the box have no say.
VectorXd free_part(const VectorXd& gradient, const VectorXd& x, const VectorXd& low,
                   const VectorXd& high) {
  VectorXd free = gradient;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if ((x[i] <= low[i] && gradient[i] > 0) || (x[i] >= high[i] && gradient[i] < 0)) {
      free[i] = 0;
    }
  }
  return free;
}

}  // namespace

Minimum minimize(const Objective& objective, VectorXd start, const VectorXd& low,
                 const VectorXd& high, const LbfgsOptions& options) {
  VectorXd x = start.cwiseMax(low).cwiseMin(high);
  VectorXd gradient(x.size());
  double value = objective(x, gradient);
  std::deque<Correction> memory;
  for (int iteration = 0; iteration < options.iterations_max; ++iteration) {
    const VectorXd free = free_part(gradient, x, low, high);
    if (!(free.cwiseAbs().maxCoeff() > options.gradient_min)) {
      break;
    }
    VectorXd direction = find_direction(free, memory);
    if (!(direction.dot(free) < 0)) {
      memory.clear();
      direction = -free;
    }
    double length = memory.empty() ? std::min(1.0, 0.1 / direction.norm()) : 1.0;
    VectorXd next;
    VectorXd next_gradient(x.size());
    double next_value = value;
    bool is_better = false;
    for (int halving = 0; halving < 12 && !is_better; ++halving, length *= 0.4) {
      next = (x + length * direction).cwiseMax(low).cwiseMin(high);
      next_value = objective(next, next_gradient);
      is_better = next_value <= value + 1e-4 * free.dot(next - x) && next_value < value;
    }
    if (!is_better) {
      if (memory.empty()) {
        break;
      }
      memory.clear();
      continue;
    }
    Correction correction{next - x, next_gradient - gradient, 0};
    const double curvature = correction.step.dot(correction.change);
    if (curvature > 1e-12 * correction.change.norm() * correction.step.norm()) {
      correction.rho = 1 / curvature;
      memory.push_back(std::move(correction));
      if (memory.size() > static_cast<std::size_t>(options.memory)) {
        memory.pop_front();
      }
    }
    const double gain = value - next_value;
    x = std::move(next);
    gradient = std::move(next_gradient);
    value = next_value;
    if (gain < options.decrease_min * (1 + std::abs(value))) {
      break;
    }
  }
  return {std::move(x), value};
}

std::vector<Minimum> minimize_best(const Objective& objective, std::span<const VectorXd> starts,
                                   std::size_t kept, const VectorXd& low, const VectorXd& high,
                                   const LbfgsOptions& options) {
  std::vector<Minimum> found;
  LbfgsOptions few = options;
  few.iterations_max = std::min(kFewSteps, options.iterations_max);
  for (const VectorXd& start : starts) {
    found.push_back(minimize(objective, start, low, high, few));
  }
  std::ranges::stable_sort(found, {}, &Minimum::value);
  found.resize(std::min(kept, found.size()));
  for (Minimum& minimum : found) {
    minimum = minimize(objective, std::move(minimum.x), low, high, options);
  }
  std::ranges::stable_sort(found, {}, &Minimum::value);
  return found;
}

}  // namespace kedge::search
