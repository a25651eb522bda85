#include "store/internal/curve.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/chunk.h"
#include "store/internal/database.h"
#include "store/internal/live_run.h"

namespace kedge::store {
namespace {

void keep(Points& points, std::size_t from, std::int64_t last_step) {
  std::size_t count = from;
  for (std::size_t i = from; i < points.size(); ++i) {
    if (points.steps[i] <= last_step) {
      points.steps[count] = points.steps[i];
      points.times_us[count] = points.times_us[i];
      points.values[count] = points.values[i];
      ++count;
    }
  }
  points.resize(count);
}

Result<void> read_onto(Database& database, const CurvePart& part, ChunkColumns columns,
                       Points& points) {
  const std::size_t before = points.size();
  if (part.sealed_count > 0) {
    KEDGE_TRY(database.query(
        "SELECT data FROM chunks WHERE series = $1 AND first_point < $2 ORDER BY first_point",
        {part.row, part.sealed_count},
        [&](const SqlRow& row) { return decode_chunk_onto(row.blob(0), columns, points); }));
    if (points.size() - before < part.sealed_count) {
      return fail(ErrorKind::Corrupt, "points are missing in the store");
    }
    // A chunk may have taken in the tail meanwhile.
    points.resize(before + static_cast<std::size_t>(part.sealed_count));
  }
  for (std::size_t i = 0; i < part.tail.size(); ++i) {
    points.add(part.tail.at(i));
  }
  return {};
}

void set_last_kept(std::vector<CurvePart>& parts, const RunEntry& entry, MetricKind kind) {
  for (CurvePart& part : parts) {
    if (kind == MetricKind::Metric) {
      part.last_kept_step = find_last_kept_step(entry.beginnings, part.attempt);
    }
  }
}

}  // namespace

Result<std::vector<CurvePart>> find_parts(Store::Impl& store, const RunEntry& entry,
                                          MetricKind kind, const std::string& key) {
  std::vector<CurvePart> parts;
  if (const LivePointer run = KEDGE_TRY(store.find_live(entry))) {
    const std::lock_guard lock(run->mutex);
    for (const auto& [name, places] : run->places) {
      const auto found = places.find(key);
      if (name.second == kind && found != places.end()) {
        const LiveSeries& series = run->series[found->second];
        parts.push_back({.row = series.row,
                         .attempt = series.attempt,
                         .sealed_count = series.sealed_count,
                         .tail = series.tail});
      }
    }
    set_last_kept(parts, entry, kind);
    return parts;
  }
  KEDGE_TRY(store.read([&](Database& database) {
    parts.clear();
    return database.query(
        "SELECT id, attempt, point_count FROM series "
        "WHERE run = $1 AND kind = $2 AND name = $3 ORDER BY attempt",
        {entry.row, static_cast<int>(kind), key}, [&](const SqlRow& row) -> Result<void> {
          parts.push_back({.row = row.integer(0),
                           .attempt = static_cast<int>(row.integer(1)),
                           .sealed_count = static_cast<std::uint64_t>(row.integer(2)),
                           .tail = {}});
          return {};
        });
  }));
  set_last_kept(parts, entry, kind);
  return parts;
}

Result<Points> read_part(Database& database, const CurvePart& part, ChunkColumns columns) {
  Points points;
  KEDGE_TRY(read_onto(database, part, columns, points));
  return points;
}

Result<void> read_kept(Database& database, const CurvePart& part, ChunkColumns columns,
                       Points& points) {
  const std::size_t before = points.size();
  KEDGE_TRY(read_onto(database, part, columns, points));
  if (part.last_kept_step != std::numeric_limits<std::int64_t>::max()) {
    keep(points, before, part.last_kept_step);
  }
  return {};
}

void order_by_step(Points& points) {
  if (std::ranges::adjacent_find(points.steps, std::greater_equal<>()) == points.steps.end()) {
    return;  // rising already, as most logs are
  }
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return points.steps[i]; });
  Points ordered;
  for (const std::size_t i : order) {
    if (!ordered.empty() && ordered.steps.back() == points.steps[i]) {
      ordered.times_us.back() = points.times_us[i];
      ordered.values.back() = points.values[i];
    } else {
      ordered.add(points.at(i));
    }
  }
  points = std::move(ordered);
}

}  // namespace kedge::store
