#include "search/internal/parzen.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "core/random.h"
#include "search/internal/probability.h"
#include "search/space.h"

namespace kedge::search {
namespace {

constexpr double kWidthMin = 0.003;
constexpr double kWidth = 0.06;

double draw_cut(double center, double width, Random& random) {
  const double low = normal_cdf(-center / width);
  const double high = normal_cdf((1 - center) / width);
  const double p = std::clamp(random.uniform(low, high), 1e-300, 1 - 1e-16);
  return std::clamp(center + width * normal_quantile(p), 0.0, 1 - 1e-12);
}

}  // namespace

Parzen::Parzen(std::span<const Point* const> points, const std::vector<std::uint64_t>& counts)
    : counts_(counts),
      size_(points.size()),
      centers_(counts.size()),
      widths_(counts.size()),
      log_norms_(counts.size()),
      log_other_(counts.size()),
      log_own_(counts.size()) {
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    for (const Point* const point : points) {
      centers_[axis].push_back((*point)[axis]);
    }
    if (counts_[axis] > 0) {
      describe_choices(axis);
    } else {
      describe_numbers(axis);
    }
  }
}

// One width for all bells of a density. Wider ones search too far from what is good; widths that
// follow the points' spread collapse onto the first good place (both tried on BBOB).
void Parzen::describe_numbers(std::size_t axis) {
  const double shrink =
      std::pow(static_cast<double>(size_), -1.0 / (static_cast<double>(counts_.size()) + 4));
  widths_[axis] = std::max(kWidth * shrink, kWidthMin);
  const double width = widths_[axis];
  const double log_width = std::log(width * std::sqrt(2 * std::numbers::pi));
  log_norms_[axis].reserve(size_);
  for (const double center : centers_[axis]) {
    // Far from both sides nothing is cut off.
    const bool is_inside = center > 5 * width && 1 - center > 5 * width;
    const double mass =
        is_inside ? 1 : normal_cdf((1 - center) / width) - normal_cdf(-center / width);
    log_norms_[axis].push_back(-log_width - std::log(mass));
  }
}

void Parzen::describe_choices(std::size_t axis) {
  const auto count = static_cast<double>(counts_[axis]);
  // As if each choice had been seen once more, spread over all bells.
  const double other = 1 / (static_cast<double>(size_) + count);
  log_other_[axis] = std::log(other);
  log_own_[axis] = std::log(1 - other * (count - 1));
}

Point Parzen::draw(Random& random) const {
  const std::uint64_t bell = random.below(size_ + 1);
  Point point(counts_.size());
  for (std::size_t axis = 0; axis < counts_.size(); ++axis) {
    const bool is_flat = bell == size_;
    if (counts_[axis] > 0) {
      const bool is_other = is_flat || random.uniform() > std::exp(log_own_[axis]);
      point[axis] =
          is_other ? static_cast<double>(random.below(counts_[axis])) : centers_[axis][bell];
    } else {
      point[axis] =
          is_flat ? random.uniform() : draw_cut(centers_[axis][bell], widths_[axis], random);
    }
  }
  return point;
}

double Parzen::log_density(const Point& point) const {
  std::vector<double> logs(size_, 0.0);
  double flat = 0;
  for (std::size_t axis = 0; axis < counts_.size(); ++axis) {
    const double x = point[axis];
    const std::vector<double>& centers = centers_[axis];
    if (counts_[axis] > 0) {
      flat -= std::log(static_cast<double>(counts_[axis]));
      for (std::size_t k = 0; k < size_; ++k) {
        logs[k] += centers[k] == x ? log_own_[axis] : log_other_[axis];
      }
    } else {
      const double scale = 1 / widths_[axis];
      const std::vector<double>& norms = log_norms_[axis];
      for (std::size_t k = 0; k < size_; ++k) {
        const double z = (x - centers[k]) * scale;
        logs[k] += norms[k] - 0.5 * z * z;
      }
    }
  }
  double top = flat;
  for (const double log : logs) {
    top = std::max(top, log);
  }
  double sum = std::exp(flat - top);
  for (const double log : logs) {
    if (log > top - 40) {
      sum += std::exp(log - top);
    }
  }
  return top + std::log(sum / static_cast<double>(size_ + 1));
}

}  // namespace kedge::search
