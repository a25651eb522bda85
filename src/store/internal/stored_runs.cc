#include "store/internal/stored_runs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/config_text.h"
#include "store/internal/journal.h"
#include "store/internal/live_run.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

// One attempt's curve of one metric.
struct StoredCurve {
  std::int64_t series = 0;
  std::int64_t run = 0;
  AttemptSummary part;
  std::int64_t journal_step = kNoStep;  // the greatest in the journal
};

Result<void> add_values(RunEntry& entry, const RunTexts& texts, RunIndex& index) {
  constexpr std::string_view kNone = "{}";
  if (texts.summary != kNone) {
    entry.summary_values = flatten_summary(KEDGE_TRY(parse_json(texts.summary)), index.metric_keys);
  }
  if (texts.labels != kNone) {
    entry.label_values = flatten_labels(KEDGE_TRY(parse_json(texts.labels)), index.label_keys);
  }
  return {};
}

// The curves of all runs, with the points of the journal.
class CurveReading {
 public:
  explicit CurveReading(KeyTable& keys) : keys_(keys) {}

  Result<void> read(Database& database) {
    KEDGE_TRY(read_beginnings(database));
    KEDGE_TRY(read_series(database));
    KEDGE_TRY(replay_journal(database));
    if (!std::ranges::is_sorted(curves_, {}, &StoredCurve::run)) {
      std::ranges::stable_sort(curves_, {}, &StoredCurve::run);
    }
    return {};
  }

  // Adds what belongs to a run; they come in order of their rows.
  void add_to(RunEntry& entry) {
    if (const auto found = beginnings_.find(entry.row); found != beginnings_.end()) {
      entry.beginnings = std::move(found->second);
    }
    while (next_ < curves_.size() && curves_[next_].run < entry.row) {
      ++next_;
    }
    std::vector<AttemptSummary> parts;
    for (; next_ < curves_.size() && curves_[next_].run == entry.row; ++next_) {
      const StoredCurve& curve = curves_[next_];
      if (curve.part.kept.count > 0) {
        parts.push_back(curve.part);
      }
      if (curve.part.attempt == entry.facts.attempt && curve.journal_step != kNoStep) {
        entry.facts.last_step =
            std::max(entry.facts.last_step.value_or(curve.journal_step), curve.journal_step);
      }
    }
    if (const auto found = heartbeats_.find(entry.row); found != heartbeats_.end()) {
      entry.facts.heartbeat_us = std::max(entry.facts.heartbeat_us, found->second);
    }
    entry.metrics = sum_up(std::move(parts));
  }

  std::unordered_set<std::int64_t> journaled() const {
    const auto rows = heartbeats_ | std::views::keys;
    return {rows.begin(), rows.end()};
  }

 private:
  Result<void> read_beginnings(Database& database) {
    return database.query(
        "SELECT run, number, from_step FROM attempts WHERE from_step IS NOT NULL "
        "ORDER BY run, number",
        {}, [&](const SqlRow& row) -> Result<void> {
          beginnings_[row.integer(0)].push_back({static_cast<int>(row.integer(1)), row.integer(2)});
          return {};
        });
  }

  Result<void> read_series(Database& database) {
    return database.query(
        "SELECT id, run, attempt, name, kept_count, last_value, min_value, max_value, last_step,"
        " last_us FROM series WHERE kind = 0 ORDER BY id",
        {}, [&](const SqlRow& row) -> Result<void> {
          curves_.push_back({.series = row.integer(0),
                             .run = row.integer(1),
                             .part = {.key = keys_.add(row.text(3)),
                                      .attempt = static_cast<int>(row.integer(2)),
                                      .kept = {.last = row.real(5),
                                               .min = row.real(6),
                                               .max = row.real(7),
                                               .last_step = row.integer(8),
                                               .count = static_cast<std::uint64_t>(row.integer(4)),
                                               .last_us = row.integer(9)}}});
          return {};
        });
  }

  Result<void> replay_journal(Database& database) {
    return database.query(
        "SELECT id, data FROM journal ORDER BY id", {}, [&](const SqlRow& row) -> Result<void> {
          heartbeats_[run_of_journal(row.integer(0))] =
              KEDGE_TRY(read_journal(row.blob(1), [&](std::int64_t series, const Points& points) {
                replay(series, points);
                return Result<void>();
              }));
          return {};
        });
  }

  void replay(std::int64_t series, const Points& points) {
    StoredCurve* curve = find(series);
    if (curve == nullptr) {
      return;  // those of the system have no summary
    }
    add_points(curve->part.kept, points, last_kept_step(*curve));
    for (const std::int64_t step : points.steps) {
      curve->journal_step = std::max(curve->journal_step, step);
    }
  }

  // Rows are numbered one after another, so that most are where the first one's number says.
  StoredCurve* find(std::int64_t series) {
    if (curves_.empty() || series < curves_.front().series) {
      return nullptr;
    }
    const auto guess = static_cast<std::size_t>(series - curves_.front().series);
    if (guess < curves_.size() && curves_[guess].series == series) {
      return &curves_[guess];
    }
    const auto found = std::ranges::lower_bound(curves_, series, {}, &StoredCurve::series);
    return found != curves_.end() && found->series == series ? &*found : nullptr;
  }

  std::int64_t last_kept_step(const StoredCurve& curve) const {
    const auto found = beginnings_.find(curve.run);
    return found == beginnings_.end() ? std::numeric_limits<std::int64_t>::max()
                                      : find_last_kept_step(found->second, curve.part.attempt);
  }

  KeyTable& keys_;
  std::vector<StoredCurve> curves_;  // by series, and when all is read by run
  std::unordered_map<std::int64_t, std::vector<Beginning>> beginnings_;
  std::unordered_map<std::int64_t, std::int64_t> heartbeats_;  // of runs with a journal
  std::size_t next_ = 0;
};

}  // namespace

Result<RunEntry> make_entry(std::int64_t row, RunFacts facts, const RunTexts& texts,
                            RunIndex& index) {
  RunEntry entry;
  entry.row = row;
  entry.facts = std::move(facts);
  entry.config_values =
      flatten_config(KEDGE_TRY(parse_json(texts.config)), index.config_keys, index.values);
  KEDGE_TRY(add_values(entry, texts, index));
  return entry;
}

Result<StoredRuns> read_stored_runs(Database& database, const ReadWith& read, RunIndex& index) {
  CurveReading curves(index.metric_keys);
  std::future<Result<void>> curves_read = std::async(std::launch::async, [&] {
    return read([&](Database& other) { return curves.read(other); });
  });
  StoredRuns stored;
  ConfigTextReader configs(index.config_keys, index.values);
  Result<void> runs_read = read_runs(
      database, [&](std::int64_t row, RunFacts facts, const RunTexts& texts) -> Result<void> {
        RunEntry entry;
        entry.row = row;
        entry.facts = std::move(facts);
        entry.config_values = KEDGE_TRY(configs.read(texts.config));
        KEDGE_TRY(add_values(entry, texts, index));
        stored.entries.push_back(std::move(entry));
        return {};
      });
  KEDGE_TRY(curves_read.get());  // first: it uses what is on this stack
  KEDGE_TRY(std::move(runs_read));
  for (RunEntry& entry : stored.entries) {
    curves.add_to(entry);
  }
  stored.journaled = curves.journaled();
  return stored;
}

}  // namespace kedge::store
