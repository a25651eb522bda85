#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/chunk.h"
#include "store/internal/database.h"
#include "store/internal/journal.h"
#include "store/internal/live_run.h"
#include "store/internal/sealing.h"

namespace kedge::store {
namespace {

MetricSummary read_summary(const SqlRow& row, int column) {
  return {.last = row.real(column + 1),
          .min = row.real(column + 2),
          .max = row.real(column + 3),
          .last_step = row.integer(column + 4),
          .count = static_cast<std::uint64_t>(row.integer(column)),
          .first_us = row.integer(column + 5),
          .last_us = row.integer(column + 6)};
}

Result<void> load_series(Database& database, LiveRun& run, const std::vector<Beginning>& beginnings,
                         KeyTable& keys) {
  return database.query(
      "SELECT id, attempt, kind, name, point_count, max_step, kept_count, last_value, min_value,"
      " max_value, last_step, first_us, last_us FROM series WHERE run = $1 ORDER BY id",
      {run.row}, [&](const SqlRow& row) -> Result<void> {
        LiveSeries series;
        series.row = row.integer(0);
        series.attempt = static_cast<int>(row.integer(1));
        series.kind = row.integer(2) == 0 ? MetricKind::Metric : MetricKind::System;
        series.name = row.string(3);
        series.sealed_count = static_cast<std::uint64_t>(row.integer(4));
        series.max_step = row.integer(5);
        series.kept = read_summary(row, 6);
        if (series.kind == MetricKind::Metric) {
          series.key = keys.add(series.name);
          series.last_kept_step = find_last_kept_step(beginnings, series.attempt);
        }
        run.places[{series.attempt, series.kind}].emplace(series.name, run.series.size());
        run.series.push_back(std::move(series));
        return {};
      });
}

Result<void> replay_journal(Database& database, LiveRun& run) {
  std::unordered_map<std::int64_t, LiveSeries*> by_row;
  for (LiveSeries& series : run.series) {
    by_row[series.row] = &series;
  }
  return database.query(
      "SELECT id, data FROM journal WHERE id >= $1 AND id < $2 ORDER BY id",
      {journal_begin(run.row), journal_end(run.row)}, [&](const SqlRow& row) -> Result<void> {
        run.journal_bytes += row.blob(1).size();
        run.journal_next = row.integer(0) + 1;
        run.heartbeat_us = KEDGE_TRY(read_journal(
            row.blob(1), [&](std::int64_t series_row, const Points& points) -> Result<void> {
              const auto found = by_row.find(series_row);
              if (found == by_row.end()) {
                return fail(ErrorKind::Corrupt, "the store's journal names an unknown series");
              }
              LiveSeries& series = *found->second;
              add_points(series.kept, points, series.last_kept_step);
              for (std::size_t i = 0; i < points.size(); ++i) {
                series.tail.add(points.at(i));
                series.max_step = std::max(series.max_step, points.steps[i]);
              }
              return {};
            }));
        return {};
      });
}

}  // namespace

Result<void> load_points(Database& database, LiveRun& run, const std::vector<Beginning>& beginnings,
                         KeyTable& keys) {
  KEDGE_TRY(load_series(database, run, beginnings, keys));
  KEDGE_TRY(replay_journal(database, run));
  KEDGE_TRY(database.query(
      "SELECT writer, next_seq, byte_offset, digest FROM sources WHERE run = $1", {run.row},
      [&](const SqlRow& row) -> Result<void> {
        run.sources[row.string(0)] = {static_cast<std::uint64_t>(row.integer(1)),
                                      static_cast<std::uint64_t>(row.integer(2)), row.string(3)};
        return {};
      }));
  run.console_lines = static_cast<std::uint64_t>(KEDGE_TRY(database.query_integer(
      "SELECT coalesce(max(first_line + line_count), 0) FROM console WHERE run = $1", {run.row})));
  return {};
}

}  // namespace kedge::store
