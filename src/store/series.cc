#include "store/series.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/chunk.h"
#include "store/downsample.h"
#include "store/internal/curve.h"
#include "store/internal/store_parts.h"
#include "store/internal/wide_chart.h"
#include "store/store.h"
#include "track/history.h"

namespace kedge::store {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Result<Points> read_curve(Database& database, const std::vector<CurvePart>& parts,
                          MetricKind kind) {
  Points points;
  for (const CurvePart& part : parts) {
    KEDGE_TRY(read_kept(database, part, ChunkColumns::All, points));
  }
  if (kind == MetricKind::Metric) {
    order_by_step(points);
  }
  return points;
}

// The value of another metric at a step.
double value_at(const Points& other, std::int64_t step) {
  const auto found = std::ranges::lower_bound(other.steps, step);
  return found != other.steps.end() && *found == step
             ? other.values[static_cast<std::size_t>(found - other.steps.begin())]
             : kNaN;
}

// Epochs are logged at their ends, the first as 1: between two of them, and from step 0 on, the
// line through both; beyond the last one it goes on.
double epoch_at(const Points& epochs, std::int64_t step) {
  if (epochs.empty()) {
    return kNaN;
  }
  const auto found = std::ranges::lower_bound(epochs.steps, step);
  auto right = static_cast<std::size_t>(found - epochs.steps.begin());
  right = std::min(right, epochs.size() - 1);
  const auto x1 = static_cast<double>(epochs.steps[right]);
  const double y1 = epochs.values[right];
  const double x0 = right == 0 ? 0 : static_cast<double>(epochs.steps[right - 1]);
  const double y0 = right == 0 ? 0 : epochs.values[right - 1];
  return x1 == x0 ? y1 : y0 + (y1 - y0) * (static_cast<double>(step) - x0) / (x1 - x0);
}

std::vector<double> map_x(const Points& points, const SeriesRequest& request,
                          std::int64_t created_us, const Points& other) {
  std::vector<double> x;
  x.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::int64_t step = points.steps[i];
    const std::int64_t time_us = points.times_us[i];
    if (request.x == "step") {
      x.push_back(static_cast<double>(step));
    } else if (request.x == "time") {
      x.push_back(static_cast<double>(time_us) * 1e-6);
    } else if (request.x == "relative") {
      x.push_back(static_cast<double>(time_us - created_us) * 1e-6);
    } else {
      x.push_back(request.x == "epoch" ? epoch_at(other, step) : value_at(other, step));
    }
  }
  return x;
}

Series to_series(const Chart& chart) {
  Series series{.x = {}, .y = {}, .count = chart.count, .is_sampled = chart.is_sampled};
  series.x.reserve(chart.points.size());
  series.y.reserve(chart.points.size());
  for (const ChartPoint& point : chart.points) {
    series.x.push_back(point.x);
    series.y.push_back(point.y);
  }
  return series;
}

Series draw(const std::vector<double>& x, const Points& points, const SeriesRequest& request) {
  std::vector<ChartPoint> shown;
  shown.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_in_range =
        x[i] >= request.from.value_or(x[i]) && x[i] <= request.to.value_or(x[i]);
    if (std::isfinite(x[i]) && is_in_range) {
      shown.push_back({x[i], points.values[i]});
    }
  }
  if (shown.empty()) {
    return {};
  }
  std::ranges::stable_sort(shown, {}, &ChartPoint::x);
  if (request.points == 0) {
    return to_series({.points = shown, .count = shown.size(), .is_sampled = false});
  }
  Downsampler sampler(request.from.value_or(shown.front().x), request.to.value_or(shown.back().x),
                      std::max<std::size_t>(request.points / 2, 1));
  for (const ChartPoint& point : shown) {
    sampler.add(point.x, point.y);
  }
  return to_series(sampler.finish());
}

std::optional<ChartAxis> plain_axis(const SeriesRequest& request, std::int64_t created_us) {
  const bool is_time = request.x == "time" || request.x == "relative";
  if (request.points == 0 || (!is_time && request.x != "step")) {
    return std::nullopt;
  }
  return ChartAxis{.kind = is_time ? ChartAxis::Kind::Time : ChartAxis::Kind::Step,
                   .zero_us = request.x == "relative" ? created_us : 0,
                   .from = request.from,
                   .to = request.to,
                   .bucket_count = std::max<std::size_t>(request.points / 2, 1)};
}

void add_history(const Points& points, const CurvePart& part, track::Curve& curve) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto& list = points.steps[i] <= part.last_kept_step ? curve.points : curve.replaced;
    list.push_back({points.steps[i], points.values[i], points.times_us[i], part.attempt});
  }
}

// As track::read_history() has it: of several values at one step the last counts.
void order_history(track::Curve& curve) {
  std::ranges::stable_sort(curve.points, {}, &track::Point::step);
  std::vector<track::Point> points;
  points.reserve(curve.points.size());
  for (const track::Point& point : curve.points) {
    if (!points.empty() && points.back().step == point.step) {
      curve.replaced.push_back(points.back());
      points.back() = point;
    } else {
      points.push_back(point);
    }
  }
  curve.points = std::move(points);
  std::ranges::stable_sort(curve.replaced, {}, [](const track::Point& point) {
    return std::pair(point.step, point.attempt);
  });
}

}  // namespace

Result<Series> Store::read_series(const SeriesRequest& request) const {
  for (const auto& end : {request.from, request.to}) {
    if (end && !std::isfinite(*end)) {
      return fail(ErrorKind::Usage, "'from' and 'to' of a series are finite numbers");
    }
  }
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(request.run));
  auto parts = KEDGE_TRY(find_parts(*impl_, *entry, request.kind, request.key));
  if (request.attempt) {
    std::erase_if(parts, [&](const CurvePart& part) { return part.attempt != *request.attempt; });
    for (CurvePart& part : parts) {
      part.last_kept_step = std::numeric_limits<std::int64_t>::max();
    }
  }
  if (parts.empty() || request.from.value_or(0) > request.to.value_or(request.from.value_or(0))) {
    return Series();
  }
  const std::int64_t created_us = entry->facts.created_us;
  const auto axis = plain_axis(request, created_us);
  std::vector<CurvePart> other_parts;
  if (request.x != "step" && request.x != "time" && request.x != "relative") {
    other_parts = KEDGE_TRY(find_parts(*impl_, *entry, MetricKind::Metric, request.x));
  }
  Series series;
  KEDGE_TRY(impl_->read([&](Database& database) -> Result<void> {
    if (axis) {
      if (const auto chart = KEDGE_TRY(draw_wide(database, parts, request.kind, *axis))) {
        series = to_series(*chart);
        return {};
      }
    }
    const Points points = KEDGE_TRY(read_curve(database, parts, request.kind));
    const Points other = KEDGE_TRY(read_curve(database, other_parts, MetricKind::Metric));
    series = draw(map_x(points, request, created_us, other), points, request);
    return {};
  }));
  return series;
}

Result<track::Curve> Store::read_history(const RunKey& run, const std::string& key,
                                         MetricKind kind) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(run));
  const auto parts = KEDGE_TRY(find_parts(*impl_, *entry, kind, key));
  track::Curve curve;
  KEDGE_TRY(impl_->read([&](Database& database) -> Result<void> {
    curve = {};
    for (const CurvePart& part : parts) {
      add_history(KEDGE_TRY(read_part(database, part, ChunkColumns::All)), part, curve);
    }
    return {};
  }));
  if (kind == MetricKind::Metric) {
    order_history(curve);
  }
  return curve;
}

}  // namespace kedge::store
