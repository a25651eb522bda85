// Minimises a smooth function in a box: limited-memory BFGS with projection onto the bounds.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace kedge::search {

struct LbfgsOptions {
  int iterations_max = 50;
  int memory = 8;
  double gradient_min = 1e-6;  // stops where no component that is free exceeds it
  double decrease_min = 1e-9;  // stops where a step gains less, relative to the value
};

struct Minimum {
  Eigen::VectorXd x;
  double value = 0;
};

// The function's value at x; writes the gradient. Infinite or NaN values are stepped back from.
using Objective = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd& gradient)>;

Minimum minimize(const Objective& objective, Eigen::VectorXd start, const Eigen::VectorXd& low,
                 const Eigen::VectorXd& high, const LbfgsOptions& options = {});

// Takes a few steps from each start, and goes on from the `kept` lowest points reached. The lowest
// comes first.
std::vector<Minimum> minimize_best(const Objective& objective,
                                   std::span<const Eigen::VectorXd> starts, std::size_t kept,
                                   const Eigen::VectorXd& low, const Eigen::VectorXd& high,
                                   const LbfgsOptions& options = {});

}  // namespace kedge::search
