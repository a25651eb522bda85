// Mean and deviation of numbers that come one by one (Welford's sums: a mean far from zero loses no
// digits of the deviation). Numbers that are not finite are passed over.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace kedge::store {

class Spread {
 public:
  void add(double value) {
    if (!std::isfinite(value)) {
      return;
    }
    ++count_;
    const double off = value - mean_;
    mean_ += off / static_cast<double>(count_);
    squares_ += off * (value - mean_);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  std::size_t count() const { return count_; }

  double mean() const { return mean_; }

  // Of a sample: divided by n - 1; 0 of a single number.
  double deviation() const {
    return count_ > 1 ? std::sqrt(squares_ / static_cast<double>(count_ - 1)) : 0;
  }

  double min() const { return min_; }

  double max() const { return max_; }

 private:
  std::size_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace kedge::store
