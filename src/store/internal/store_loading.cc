#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/database.h"
#include "store/internal/live_run.h"
#include "store/internal/run_rows.h"
#include "store/internal/sealing.h"
#include "store/internal/store_parts.h"

namespace kedge::store {

struct Store::Impl::LoadedRuns {
  struct One {
    RunEntry entry;
    std::vector<AttemptSummary> parts;
  };

  std::vector<One> runs;
  std::unordered_map<std::int64_t, std::size_t> by_row;

  One* find(std::int64_t row) {
    const auto found = by_row.find(row);
    return found == by_row.end() ? nullptr : &runs[found->second];
  }

  Result<void> read_metrics(Database& database, KeyTable& keys) {
    return database.query(
        "SELECT run, attempt, name, kept_count, last_value, min_value, max_value, last_step,"
        " last_us "
        "FROM series WHERE kind = 0 AND kept_count > 0",
        {}, [&](const SqlRow& row) -> Result<void> {
          if (One* one = find(row.integer(0))) {
            one->parts.push_back({.key = keys.add(row.text(2)),
                                  .attempt = static_cast<int>(row.integer(1)),
                                  .kept = {.last = row.real(4),
                                           .min = row.real(5),
                                           .max = row.real(6),
                                           .last_step = row.integer(7),
                                           .count = static_cast<std::uint64_t>(row.integer(3)),
                                           .last_us = row.integer(8)}});
          }
          return {};
        });
  }

  Result<void> read_beginnings(Database& database) {
    return database.query(
        "SELECT run, number, from_step FROM attempts WHERE from_step IS NOT NULL "
        "ORDER BY run, number",
        {}, [&](const SqlRow& row) -> Result<void> {
          if (One* one = find(row.integer(0))) {
            one->entry.beginnings.push_back({static_cast<int>(row.integer(1)), row.integer(2)});
          }
          return {};
        });
  }
};

RunEntry Store::Impl::make_entry(std::int64_t row, RunFacts facts, const RunDocuments& documents) {
  RunEntry entry;
  entry.row = row;
  entry.facts = std::move(facts);
  entry.config_values = flatten_config(documents.config, index.config_keys, index.values);
  entry.summary_values = flatten_summary(documents.summary, index.metric_keys);
  entry.label_values = flatten_labels(documents.labels, index.label_keys);
  return entry;
}

Result<LivePointer> Store::Impl::load_live(Database& database, const RunEntry& entry) {
  auto run = std::make_shared<LiveRun>();
  run->row = entry.row;
  run->key = {entry.facts.project, entry.facts.id};
  KEDGE_TRY(load_points(database, *run, entry.beginnings, index.metric_keys));
  return run;
}

Result<void> Store::Impl::load(Database& database) {
  KEDGE_TRY(projects.load(database, opened_us));
  LoadedRuns loaded;
  KEDGE_TRY(read_runs(
      database,
      [&](std::int64_t row, RunFacts facts, const RunDocuments& documents) -> Result<void> {
        loaded.by_row.emplace(row, loaded.runs.size());
        loaded.runs.push_back({make_entry(row, std::move(facts), documents), {}});
        return {};
      }));
  KEDGE_TRY(loaded.read_metrics(database, index.metric_keys));
  KEDGE_TRY(loaded.read_beginnings(database));
  std::vector<std::int64_t> rows;
  KEDGE_TRY(database.query("SELECT DISTINCT run FROM journal", {},
                           [&](const SqlRow& row) -> Result<void> {
                             rows.push_back(row.integer(0));
                             return {};
                           }));
  for (const std::int64_t row : rows) {
    if (LoadedRuns::One* one = loaded.find(row)) {
      LivePointer run = KEDGE_TRY(load_live(database, one->entry));
      one->entry.metrics = sum_up(*run);
      one->parts.clear();
      live[row] = std::move(run);
    }
  }
  for (LoadedRuns::One& one : loaded.runs) {
    if (!one.parts.empty()) {
      one.entry.metrics = sum_up(std::move(one.parts));
    }
    index.put(std::move(one.entry));
  }
  return {};
}

Result<void> Store::Impl::reload(Database& database, const RunKey& key) {
  std::optional<RunEntry> entry;
  KEDGE_TRY(read_run(
      database, key,
      [&](std::int64_t row, RunFacts facts, const RunDocuments& documents) -> Result<void> {
        entry = make_entry(row, std::move(facts), documents);
        return {};
      }));
  if (!entry) {
    if (const EntryPointer old = index.find(key)) {
      const std::lock_guard lock(live_mutex);
      live.erase(old->row);
    }
    index.erase(key);
    stale.erase(key);
    return {};
  }
  for (const Attempt& attempt : KEDGE_TRY(read_attempts(database, entry->row))) {
    if (attempt.from_step) {
      entry->beginnings.push_back({attempt.number, *attempt.from_step});
    }
  }
  LivePointer run = KEDGE_TRY(load_live(database, *entry));
  entry->metrics = sum_up(*run);
  index.put(std::move(*entry));
  stale.erase(key);
  const std::lock_guard lock(live_mutex);
  live[run->row] = std::move(run);
  return {};
}

}  // namespace kedge::store
