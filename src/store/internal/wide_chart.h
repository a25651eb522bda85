// A chart of very many points from the sketches of their chunks, which leaves most chunks packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/result.h"
#include "store/downsample.h"
#include "store/internal/curve.h"
#include "store/internal/database.h"
#include "store/series.h"

namespace kedge::store {

// What a chart shows: x of a point, and where it begins and ends.
struct ChartAxis {
  enum class Kind : std::uint8_t { Step, Time };

  Kind kind = Kind::Step;
  std::int64_t zero_us = 0;  // of Time
  std::optional<double> from = {};
  std::optional<double> to = {};
  std::size_t bucket_count = 250;

  double x_of(const Point& point) const {
    return kind == Kind::Step ? static_cast<double>(point.step)
                              : static_cast<double>(point.time_us - zero_us) * 1e-6;
  }
};

// Nothing where sketches do not show the curve: there are few points, or steps that fall or were
// logged twice, so that one may stand for another.
Result<std::optional<Chart>> draw_wide(Database& database, const std::vector<CurvePart>& parts,
                                       MetricKind kind, const ChartAxis& axis);

}  // namespace kedge::store
