// The places on the x axis at which the curves of a group are summed up; GroupCurve says which.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "store/series.h"
#include "store/spread.h"

namespace kedge::store {

class CurveGrid {
 public:
  // `visit_all` calls back with each curve of the group; it is called once.
  CurveGrid(std::size_t point_count,
            const std::function<void(const std::function<void(const Series&)>&)>& visit_all);

  bool is_binned() const { return is_binned_; }

  const std::vector<double>& places() const { return places_; }

  // Adds one run's value at each place it reaches; `spreads` has a Spread for each place.
  void add(const Series& curve, std::vector<Spread>& spreads) const;

 private:
  std::size_t cell_of(double x) const;

  std::vector<double> places_;
  bool is_binned_ = false;
  double from_ = 0;
  double width_ = 1;
};

}  // namespace kedge::store
