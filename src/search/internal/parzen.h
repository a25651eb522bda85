// A density over the cube made of one bell around each point, cut off at the cube's sides, and a
// flat share that keeps every place possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "search/space.h"

namespace kedge::search {

class Parzen {
 public:
  // counts[j]: the number of choices of axis j, which have no order; 0: an axis of numbers.
  // Coordinates of choices are their index.
  Parzen(std::span<const Point* const> points, const std::vector<std::uint64_t>& counts);

  Point draw(Random& random) const;

  double log_density(const Point& point) const;

 private:
  void describe_numbers(std::size_t axis);
  void describe_choices(std::size_t axis);

  const std::vector<std::uint64_t>& counts_;
  std::size_t size_;  // bells
  // By axis: the bells' centers, one width for all, the log of what lies inside the cube.
  std::vector<std::vector<double>> centers_;
  std::vector<double> widths_;
  std::vector<std::vector<double>> log_norms_;
  // By axis of choices: what another choice than the bell's own gets.
  std::vector<double> log_other_;
  std::vector<double> log_own_;
};

}  // namespace kedge::search
