#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/live_run.h"
#include "store/internal/store_parts.h"
#include "store/store.h"

namespace kedge::store {
namespace {

using NamedKind = std::pair<std::string, MetricKind>;

// Attempts come in order, so that the last value is the newest attempt's.
std::vector<Metric> join_attempts(const std::map<NamedKind, std::map<int, MetricSummary>>& found) {
  std::vector<Metric> metrics;
  for (const auto& [name, attempts] : found) {
    Metric metric{.key = name.first, .kind = name.second, .summary = {}};
    for (const auto& [attempt, kept] : attempts) {
      add_summary(metric.summary, kept);
    }
    if (metric.summary.count > 0) {
      metrics.push_back(std::move(metric));
    }
  }
  return metrics;
}

}  // namespace

void Store::log(const RunKey& key, std::vector<LogPoint> points, std::int64_t now_us,
                Done<std::uint64_t> done) {
  // A job may run again: it must not eat its points.
  auto shared = std::make_shared<const std::vector<LogPoint>>(std::move(points));
  const std::size_t bytes = shared->size() * sizeof(LogPoint);
  impl_->writer->submit(
      [this, key, shared, now_us](Database& database) -> Result<void> {
        LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
        RunDraft& draft = impl_->extend(*run, now_us);
        for (const LogPoint& point : *shared) {
          const std::size_t place = find_or_add_series(*run, draft.facts.attempt, point.kind,
                                                       point.key, impl_->index.metric_keys);
          impl_->add_point(*run, place,
                           {.step = point.step,
                            .time_us = point.time_us == 0 ? now_us : point.time_us,
                            .value = point.value});
          if (point.kind == MetricKind::Metric) {
            draft.facts.last_step =
                std::max(draft.facts.last_step.value_or(point.step), point.step);
          }
        }
        return {};
      },
      [shared, done = std::move(done)](Result<void> result) {
        done(result ? Result<std::uint64_t>(shared->size())
                    : Result<std::uint64_t>(std::unexpected(std::move(result).error())));
      },
      bytes);
}

Result<std::uint64_t> Store::log(const RunKey& key, std::vector<LogPoint> points,
                                 std::int64_t now_us) {
  std::promise<Result<std::uint64_t>> promise;
  log(key, std::move(points), now_us,
      [&](Result<std::uint64_t> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

Result<std::vector<Metric>> Store::list_metrics(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  std::map<NamedKind, std::map<int, MetricSummary>> found;
  if (const LivePointer run = KEDGE_TRY(impl_->find_live(*entry))) {
    const std::lock_guard lock(run->mutex);
    for (const LiveSeries& series : run->series) {
      found[{series.name, series.kind}][series.attempt] = series.kept;
    }
    return join_attempts(found);
  }
  KEDGE_TRY(impl_->read([&](Database& database) {
    found.clear();
    return database.query(
        "SELECT name, kind, attempt, kept_count, last_value, min_value, max_value, last_step,"
        " first_us, last_us FROM series WHERE run = $1",
        {entry->row}, [&](const SqlRow& row) -> Result<void> {
          const auto kind = row.integer(1) == 0 ? MetricKind::Metric : MetricKind::System;
          found[{row.string(0), kind}][static_cast<int>(row.integer(2))] = {
              .last = row.real(4),
              .min = row.real(5),
              .max = row.real(6),
              .last_step = row.integer(7),
              .count = static_cast<std::uint64_t>(row.integer(3)),
              .first_us = row.integer(8),
              .last_us = row.integer(9)};
          return {};
        });
  }));
  return join_attempts(found);
}

}  // namespace kedge::store
