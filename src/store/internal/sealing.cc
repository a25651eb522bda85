#include "store/internal/sealing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/chunk.h"
#include "store/internal/database.h"
#include "store/internal/journal.h"
#include "store/internal/live_run.h"

namespace kedge::store {
namespace {

constexpr std::size_t kJournalBytes = std::size_t{64} << 10U;

// With very many series a journal of the usual size would make chunks of a point each.
constexpr std::size_t kJournalBytesPerSeries = 64;

// Of one series, before they are made one.
constexpr std::size_t kOpenChunks = 8;

// Roughly: what a point takes in the journal.
constexpr std::size_t kPointBytes = 12;

void append(Points& points, const Points& more) {
  points.steps.insert(points.steps.end(), more.steps.begin(), more.steps.end());
  points.times_us.insert(points.times_us.end(), more.times_us.begin(), more.times_us.end());
  points.values.insert(points.values.end(), more.values.begin(), more.values.end());
}

Points slice(const Points& points, std::size_t begin, std::size_t end) {
  const auto first = static_cast<std::ptrdiff_t>(begin);
  const auto last = static_cast<std::ptrdiff_t>(end);
  return {{points.steps.begin() + first, points.steps.begin() + last},
          {points.times_us.begin() + first, points.times_us.begin() + last},
          {points.values.begin() + first, points.values.begin() + last}};
}

Result<void> add_row(Database& database, LiveRun& run, LiveSeries& series) {
  const std::int64_t row = KEDGE_TRY(database.query_integer(
      "INSERT INTO series (run, attempt, kind, name, point_count, kept_count, last_step, first_us,"
      " last_us, max_step) VALUES ($1, $2, $3, $4, 0, 0, 0, 0, 0, $5) RETURNING id",
      {run.row, series.attempt, static_cast<int>(series.kind), series.name, kNoStep}));
  const std::lock_guard lock(run.mutex);
  series.row = row;
  return {};
}

Result<void> find_open_chunks(Database& database, LiveSeries& series) {
  std::vector<OpenChunk> open;
  bool has_full = false;
  KEDGE_TRY(database.query(
      "SELECT first_point, point_count FROM chunks WHERE series = $1 "
      "ORDER BY first_point DESC LIMIT 32",
      {series.row}, [&](const SqlRow& row) -> Result<void> {
        has_full = has_full || row.integer(1) >= static_cast<std::int64_t>(kChunkPoints);
        if (!has_full) {
          open.push_back({static_cast<std::uint64_t>(row.integer(0)),
                          static_cast<std::uint64_t>(row.integer(1))});
        }
        return {};
      }));
  std::ranges::reverse(open);
  series.open_chunks = std::move(open);
  series.has_open_chunks = true;
  return {};
}

// Takes back open chunks, when there are many or they make a full one: those not larger than what
// comes after them. So most points are packed twice, and a series has few small chunks.
Result<Points> take_open_chunks(Database& database, LiveSeries& series, std::size_t added) {
  if (!series.has_open_chunks) {
    KEDGE_TRY(find_open_chunks(database, series));
  }
  std::size_t count = added;
  std::size_t keep = series.open_chunks.size();
  std::size_t open_count = added;
  for (const OpenChunk& chunk : series.open_chunks) {
    open_count += static_cast<std::size_t>(chunk.count);
  }
  if (keep < kOpenChunks && open_count < kChunkPoints) {
    return Points();
  }
  while (keep > 0 && series.open_chunks[keep - 1].count <= count) {
    count += static_cast<std::size_t>(series.open_chunks[--keep].count);
  }
  Points points;
  for (std::size_t i = keep; i < series.open_chunks.size(); ++i) {
    const auto first = static_cast<std::int64_t>(series.open_chunks[i].first_point);
    KEDGE_TRY(database.query("SELECT data FROM chunks WHERE series = $1 AND first_point = $2",
                             {series.row, first}, [&](const SqlRow& row) {
                               return decode_chunk_onto(row.blob(0), ChunkColumns::All, points);
                             }));
    KEDGE_TRY(database.run("DELETE FROM chunks WHERE series = $1 AND first_point = $2",
                           {series.row, first}));
  }
  series.open_chunks.resize(keep);
  return points;
}

Result<void> write_chunk(Database& database, LiveSeries& series, std::uint64_t first_point,
                         const Points& points) {
  const ChunkSketch sketch = sketch_of(points);
  const std::string sketch_bytes = encode_sketch(sketch);
  const std::string data = encode_chunk(points);
  KEDGE_TRY(database.run(
      "INSERT INTO chunks (series, first_point, point_count, min_step, max_step, sketch, data) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7)",
      {series.row, first_point, points.size(), sketch.stats.min_step, sketch.stats.max_step,
       Blob{sketch_bytes}, Blob{data}}));
  if (points.size() < kChunkPoints) {
    series.open_chunks.push_back({first_point, points.size()});
  }
  return {};
}

MetricSummary summary_of(const PointsSketch& whole) {
  return {.last = whole.last.value,
          .min = whole.min.value,
          .max = whole.max.value,
          .last_step = whole.last.step,
          .count = whole.count,
          .first_us = whole.first.time_us,
          .last_us = whole.last.time_us};
}

Result<void> recount_chunk(Database& database, const LiveSeries& series, std::int64_t first_point,
                           MetricSummary& kept) {
  Points points;
  KEDGE_TRY(database.query("SELECT data FROM chunks WHERE series = $1 AND first_point = $2",
                           {series.row, first_point}, [&](const SqlRow& row) {
                             return decode_chunk_onto(row.blob(0), ChunkColumns::All, points);
                           }));
  add_points(kept, points, series.last_kept_step);
  return {};
}

// What the points in chunks come to, up to the step where a later attempt began.
Result<MetricSummary> recount(Database& database, const LiveSeries& series) {
  MetricSummary kept;
  const auto add = [&](const SqlRow& row) -> Result<void> {
    if (row.integer(2) > series.last_kept_step) {
      return recount_chunk(database, series, row.integer(0), kept);
    }
    const ChunkSketch sketch = KEDGE_TRY(decode_sketch(row.blob(3)));
    if (!sketch.stats.is_sorted) {  // its last point need not be that of the last step
      return recount_chunk(database, series, row.integer(0), kept);
    }
    add_summary(kept, summary_of(sketch.stats.whole));
    return {};
  };
  KEDGE_TRY(
      database.query("SELECT first_point, min_step, max_step, sketch FROM chunks "
                     "WHERE series = $1 AND min_step <= $2 ORDER BY first_point",
                     {series.row, series.last_kept_step}, add));
  return kept;
}

Result<void> write_series_row(Database& database, const LiveSeries& series,
                              const MetricSummary& kept) {
  std::int64_t max_step = series.max_step;
  for (const std::int64_t step : series.fresh.steps) {
    max_step = std::max(max_step, step);
  }
  const std::uint64_t count = series.sealed_count + series.tail.size() + series.fresh.size();
  return database.run(
      "UPDATE series SET point_count = $2, kept_count = $3, last_value = $4, min_value = $5,"
      " max_value = $6, last_step = $7, first_us = $8, last_us = $9, max_step = $10 WHERE id = $1",
      {series.row, count, kept.count, kept.last, kept.min, kept.max, kept.last_step, kept.first_us,
       kept.last_us, max_step});
}

Result<void> seal_series(Database& database, LiveRun& run, std::size_t place) {
  LiveSeries& series = run.series[place];
  const std::size_t added = series.tail.size() + series.fresh.size();
  if (added == 0 && !series.must_recount) {
    return {};
  }
  if (added > 0) {
    Points points = KEDGE_TRY(take_open_chunks(database, series, added));
    std::uint64_t first = series.sealed_count - points.size();
    append(points, series.tail);
    append(points, series.fresh);
    for (std::size_t begin = 0; begin < points.size(); begin += kChunkPoints) {
      const std::size_t end = std::min(begin + kChunkPoints, points.size());
      const bool is_whole = begin == 0 && end == points.size();
      KEDGE_TRY(
          write_chunk(database, series, first, is_whole ? points : slice(points, begin, end)));
      first += end - begin;
    }
  }
  MetricSummary kept = series.kept;
  if (series.must_recount) {
    kept = KEDGE_TRY(recount(database, series));
    run.draft->recounted.emplace_back(place, kept);
  } else {
    add_points(kept, series.fresh, series.last_kept_step);
  }
  return write_series_row(database, series, kept);
}

Result<void> seal(Database& database, LiveRun& run) {
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    KEDGE_TRY(seal_series(database, run, i));
  }
  if (run.journal_bytes > 0) {
    KEDGE_TRY(database.run("DELETE FROM journal WHERE id >= $1 AND id < $2",
                           {journal_begin(run.row), journal_end(run.row)}));
  }
  run.draft->is_sealed = true;
  return {};
}

Result<void> write_journal_row(Database& database, LiveRun& run) {
  std::string bytes;
  begin_journal(bytes, run.draft->facts.heartbeat_us);
  for (const std::size_t place : run.draft->fresh) {
    append_journal(bytes, run.series[place].row, run.series[place].fresh);
  }
  run.journal_next = std::max(run.journal_next, journal_begin(run.row)) + 1;
  KEDGE_TRY(database.run("INSERT INTO journal (id, data) VALUES ($1, $2)",
                         {run.journal_next - 1, Blob{bytes}}));
  run.draft->journal_bytes = bytes.size();
  return {};
}

}  // namespace

Result<void> write_points(Database& database, LiveRun& run) {
  RunDraft& draft = *run.draft;
  for (const std::size_t place : draft.fresh) {
    if (run.series[place].row == 0) {
      KEDGE_TRY(add_row(database, run, run.series[place]));
    }
  }
  const std::size_t limit = std::max(kJournalBytes, kJournalBytesPerSeries * run.series.size());
  const std::size_t bytes = run.journal_bytes + draft.fresh_count * kPointBytes;
  if (draft.must_seal || bytes > limit) {
    return seal(database, run);
  }
  return draft.fresh.empty() ? Result<void>() : write_journal_row(database, run);
}

void publish_points(LiveRun& run) {
  const std::lock_guard lock(run.mutex);
  RunDraft& draft = *run.draft;
  for (const std::size_t place : draft.fresh) {
    LiveSeries& series = run.series[place];
    add_points(series.kept, series.fresh, series.last_kept_step);
    for (const std::int64_t step : series.fresh.steps) {
      series.max_step = std::max(series.max_step, step);
    }
    append(series.tail, series.fresh);
    series.fresh.clear();
    series.is_fresh = false;
  }
  for (const auto& [place, kept] : draft.recounted) {
    run.series[place].kept = kept;
    run.series[place].must_recount = false;
  }
  run.journal_bytes += draft.journal_bytes;
  if (draft.is_sealed) {
    for (LiveSeries& series : run.series) {
      series.sealed_count += series.tail.size();
      series.tail = {};
    }
    run.journal_bytes = 0;
  }
}

}  // namespace kedge::store
