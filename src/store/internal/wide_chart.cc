#include "store/internal/wide_chart.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/chunk.h"
#include "store/downsample.h"
#include "store/internal/curve.h"
#include "store/internal/database.h"

namespace kedge::store {
namespace {

// A bucket should span some sub-ranges of a chunk (256 points each), or the edges of buckets would
// fall into too many of them.
constexpr std::uint64_t kPointsPerBucket = 512;

struct Piece {
  const CurvePart* part = nullptr;
  std::uint64_t first_point = 0;
  ChunkSketch sketch;
};

struct Extent {
  double from = std::numeric_limits<double>::infinity();
  double to = -std::numeric_limits<double>::infinity();

  void add(double x) {
    from = std::min(from, x);
    to = std::max(to, x);
  }
};

Result<std::vector<Piece>> read_pieces(Database& database, const std::vector<CurvePart>& parts) {
  std::vector<Piece> pieces;
  for (const CurvePart& part : parts) {
    KEDGE_TRY(database.query(
        "SELECT first_point, sketch FROM chunks WHERE series = $1 AND first_point < $2 "
        "AND min_step <= $3 ORDER BY first_point",
        {part.row, part.sealed_count, part.last_kept_step}, [&](const SqlRow& row) -> Result<void> {
          pieces.push_back({.part = &part,
                            .first_point = static_cast<std::uint64_t>(row.integer(0)),
                            .sketch = KEDGE_TRY(decode_sketch(row.blob(1)))});
          return {};
        }));
  }
  return pieces;
}

// Whether no step of one piece can replace one of another.
bool is_rising(const std::vector<Piece>& pieces, const std::vector<CurvePart>& parts) {
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const Piece& piece : pieces) {
    const ChunkStats& stats = piece.sketch.stats;
    if (!stats.is_sorted || stats.min_step <= last) {
      return false;
    }
    last = std::min(stats.max_step, piece.part->last_kept_step);
  }
  // Tails of older attempts would lie between the pieces.
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (!parts[i].tail.empty()) {
      return false;
    }
  }
  for (const std::int64_t step : parts.back().tail.steps) {
    if (step <= last) {
      return false;
    }
    last = step;
  }
  return true;
}

ChartPoint chart_point(const ChartAxis& axis, const Point& point) {
  return {axis.x_of(point), point.value};
}

class WideChart {
 public:
  WideChart(Database& database, const ChartAxis& axis, Extent extent)
      : database_(database),
        axis_(axis),
        extent_(extent),
        sampler_(extent.from, extent.to, axis.bucket_count) {}

  Result<void> add(const Piece& piece) {
    const ChunkStats& stats = piece.sketch.stats;
    Point low{.step = stats.min_step, .time_us = stats.min_time_us};
    Point high{.step = stats.max_step, .time_us = stats.max_time_us};
    if (axis_.x_of(high) < extent_.from || axis_.x_of(low) > extent_.to) {
      return {};
    }
    const bool is_inside = axis_.x_of(low) >= extent_.from && axis_.x_of(high) <= extent_.to;
    const bool is_whole = piece.first_point + stats.whole.count <= piece.part->sealed_count &&
                          stats.max_step <= piece.part->last_kept_step;
    if (!is_inside || !is_whole) {
      return add_points(piece);
    }
    for (const PointsSketch& range : piece.sketch.ranges) {
      add_range(range);
    }
    return {};
  }

  void add(const Point& point) {
    const ChartPoint shown = chart_point(axis_, point);
    if (shown.x >= extent_.from && shown.x <= extent_.to) {
      sampler_.add(shown.x, shown.y);
      ++count_;
    }
  }

  Chart finish() {
    Chart chart = sampler_.finish();
    chart.count = count_;
    chart.is_sampled = chart.points.size() < count_;
    return chart;
  }

 private:
  void add_range(const PointsSketch& range) {
    count_ += range.count;
    const ChartRange shown{.count = range.count,
                           .nan_count = range.nan_count,
                           .first = chart_point(axis_, range.first),
                           .last = chart_point(axis_, range.last),
                           .min = chart_point(axis_, range.min),
                           .max = chart_point(axis_, range.max),
                           .nan_x = axis_.x_of(range.nan)};
    if (sampler_.is_in_one_bucket(shown.first.x, shown.last.x)) {
      sampler_.add(shown);
      return;
    }
    // It lies on the edge of two buckets, which share its least and greatest point.
    for (const ChartPoint& point : {shown.first, shown.min, shown.max, shown.last}) {
      sampler_.add(point.x, point.y);
    }
    if (range.nan_count > 0) {
      sampler_.add(shown.nan_x, std::numeric_limits<double>::quiet_NaN());
    }
  }

  Result<void> add_points(const Piece& piece) {
    return database_.query("SELECT data FROM chunks WHERE series = $1 AND first_point = $2",
                           {piece.part->row, piece.first_point},
                           [&](const SqlRow& row) -> Result<void> {
                             const Points points = KEDGE_TRY(decode_chunk(row.blob(0)));
                             for (std::size_t i = 0; i < points.size(); ++i) {
                               if (piece.first_point + i < piece.part->sealed_count &&
                                   points.steps[i] <= piece.part->last_kept_step) {
                                 add(points.at(i));
                               }
                             }
                             return {};
                           });
  }

  Database& database_;
  const ChartAxis& axis_;
  Extent extent_;
  Downsampler sampler_;
  std::uint64_t count_ = 0;
};

}  // namespace

Result<std::optional<Chart>> draw_wide(Database& database, const std::vector<CurvePart>& parts,
                                       MetricKind kind, const ChartAxis& axis) {
  std::uint64_t count = 0;
  for (const CurvePart& part : parts) {
    count += part.count();
  }
  if (count < kPointsPerBucket * axis.bucket_count) {
    return std::nullopt;
  }
  const std::vector<Piece> pieces = KEDGE_TRY(read_pieces(database, parts));
  if (kind == MetricKind::Metric && !is_rising(pieces, parts)) {
    return std::nullopt;
  }
  Extent extent;
  for (const Piece& piece : pieces) {
    const ChunkStats& stats = piece.sketch.stats;
    extent.add(axis.x_of({.step = stats.min_step, .time_us = stats.min_time_us}));
    extent.add(axis.x_of({.step = std::min(stats.max_step, piece.part->last_kept_step),
                          .time_us = stats.max_time_us}));
  }
  for (const CurvePart& part : parts) {
    for (std::size_t i = 0; i < part.tail.size(); ++i) {
      extent.add(axis.x_of(part.tail.at(i)));
    }
  }
  extent = {axis.from.value_or(extent.from), axis.to.value_or(extent.to)};
  WideChart chart(database, axis, extent);
  for (const Piece& piece : pieces) {
    KEDGE_TRY(chart.add(piece));
  }
  for (const CurvePart& part : parts) {
    for (std::size_t i = 0; i < part.tail.size(); ++i) {
      if (part.tail.steps[i] <= part.last_kept_step) {
        chart.add(part.tail.at(i));
      }
    }
  }
  return chart.finish();
}

}  // namespace kedge::store
