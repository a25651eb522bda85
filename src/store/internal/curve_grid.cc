#include "store/internal/curve_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <vector>

namespace kedge::store {
namespace {

// The value of a curve between two of its points. Not finite beside one that is not.
double value_between(const Series& curve, double x) {
  const auto right = std::ranges::upper_bound(curve.x, x);
  if (right == curve.x.begin() || right == curve.x.end()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto i = static_cast<std::size_t>(right - curve.x.begin());
  const double share = (x - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
  return curve.y[i - 1] + (curve.y[i] - curve.y[i - 1]) * share;
}

struct Cell {
  double sum = 0;
  std::size_t finite_count = 0;
  std::size_t count = 0;
};

// The different x of both, which are sorted, as long as there are not too many of them.
void join_places(std::vector<double>& places, const std::vector<double>& x, std::size_t limit) {
  if (places.size() > limit || std::ranges::includes(places, x)) {
    return;
  }
  std::vector<double> joined;
  joined.reserve(places.size() + x.size());
  std::ranges::set_union(places, x, std::back_inserter(joined));
  joined.erase(std::ranges::unique(joined).begin(), joined.end());
  places = std::move(joined);
}

}  // namespace

CurveGrid::CurveGrid(
    std::size_t point_count,
    const std::function<void(const std::function<void(const Series&)>&)>& visit_all) {
  double to = -std::numeric_limits<double>::infinity();
  from_ = std::numeric_limits<double>::infinity();
  visit_all([&](const Series& curve) {
    if (curve.x.empty()) {
      return;
    }
    from_ = std::min(from_, curve.x.front());
    to = std::max(to, curve.x.back());
    join_places(places_, curve.x, point_count);
  });
  is_binned_ = places_.size() > point_count;
  if (!is_binned_) {
    return;
  }
  width_ = (to - from_) / static_cast<double>(point_count);
  places_.resize(point_count);
  for (std::size_t i = 0; i < point_count; ++i) {
    places_[i] = from_ + (static_cast<double>(i) + 0.5) * width_;
  }
}

std::size_t CurveGrid::cell_of(double x) const {
  if (!is_binned_) {
    return static_cast<std::size_t>(std::ranges::lower_bound(places_, x) - places_.begin());
  }
  const auto cell = static_cast<std::size_t>(std::max(0.0, std::floor((x - from_) / width_)));
  return std::min(cell, places_.size() - 1);
}

void CurveGrid::add(const Series& curve, std::vector<Spread>& spreads) const {
  if (curve.x.empty()) {
    return;
  }
  const std::size_t first = cell_of(curve.x.front());
  const std::size_t last = cell_of(curve.x.back());
  std::vector<Cell> cells(last - first + 1);
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    Cell& cell = cells[cell_of(curve.x[i]) - first];
    ++cell.count;
    if (std::isfinite(curve.y[i])) {
      ++cell.finite_count;
      cell.sum += curve.y[i];
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    if (cell.finite_count > 0) {
      spreads[first + i].add(cell.sum / static_cast<double>(cell.finite_count));
    } else if (cell.count == 0) {
      spreads[first + i].add(value_between(curve, places_[first + i]));
    }
  }
}

}  // namespace kedge::store
