// Where a Gaussian process expects the largest improvement.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "core/random.h"
#include "search/internal/gaussian_process.h"
#include "search/space.h"

namespace kedge::search {

// The axes as the process sees them: quantiles, or the index of a choice.
struct Axes {
  std::vector<bool> is_choice;
  std::vector<std::uint64_t> counts;  // of different values; 0: continuous
  const Space* space = nullptr;

  Eigen::VectorXd features(const Point& point) const;
  Point point_of(const Eigen::VectorXd& features) const;
};

Axes describe_axes(const Space& space);

// log E[max(best - f, 0)] for f ~ N(mean, deviation^2), also where the expectation underflows.
double log_expected_improvement(double mean, double deviation, double best);

class Acquisition {
 public:
  Acquisition(const GaussianProcess& process, double best_loss, const Axes& axes)
      : process_(process), best_loss_(best_loss), axes_(axes) {}

  // `beginnings`: the best points so far, near which the search also begins.
  Point maximize(std::span<const Eigen::VectorXd> beginnings, Random& random) const;

 private:
  double value_of(const Prediction& prediction) const;
  double value(const Eigen::VectorXd& x) const;
  std::vector<Eigen::VectorXd> climb(std::span<const Eigen::VectorXd> starts) const;
  double try_levels(Eigen::VectorXd& x, double value_now) const;
  Eigen::VectorXd draw(Random& random) const;
  Eigen::VectorXd draw_near(const Eigen::VectorXd& center, Random& random) const;
  void snap(Eigen::VectorXd& x) const;

  const GaussianProcess& process_;
  double best_loss_;
  const Axes& axes_;
};

}  // namespace kedge::search
