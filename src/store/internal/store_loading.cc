#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/live_run.h"
#include "store/internal/run_rows.h"
#include "store/internal/sealing.h"
#include "store/internal/store_parts.h"
#include "store/internal/stored_runs.h"

namespace kedge::store {

Result<LivePointer> Store::Impl::read_live(Database& database, const RunEntry& entry) {
  auto run = std::make_shared<LiveRun>();
  run->row = entry.row;
  run->key = {entry.facts.project, entry.facts.id};
  KEDGE_TRY(load_points(database, *run, entry.beginnings, index.metric_keys));
  return run;
}

void Store::Impl::put_live(LivePointer run) {
  const std::lock_guard lock(live_mutex);
  const std::int64_t row = run->row;
  dormant.erase(row);
  live[row] = std::move(run);
}

Result<LivePointer> Store::Impl::load_live(Database& database, const RunEntry& entry) {
  {
    const std::lock_guard lock(live_mutex);
    if (const auto found = live.find(entry.row); found != live.end()) {
      return found->second;
    }
  }
  LivePointer run = KEDGE_TRY(read_live(database, entry));
  put_live(run);
  return run;
}

Result<LivePointer> Store::Impl::find_live(const RunEntry& entry) {
  {
    const std::lock_guard lock(live_mutex);
    if (const auto found = live.find(entry.row); found != live.end()) {
      return found->second;
    }
    if (!dormant.contains(entry.row)) {
      return nullptr;
    }
  }
  LivePointer run;
  KEDGE_TRY(writer->run([&](Database& database) -> Result<void> {
    // It may have been ended or deleted since.
    const EntryPointer now = index.find({entry.facts.project, entry.facts.id});
    run = now == nullptr ? nullptr : KEDGE_TRY(load_live(database, *now));
    return {};
  }));
  return run;
}

void Store::Impl::forget_live(std::int64_t row) {
  const std::lock_guard lock(live_mutex);
  live.erase(row);
  dormant.erase(row);
}

Result<void> Store::Impl::load(Database& database) {
  KEDGE_TRY(projects.load(database, opened_us));
  StoredRuns stored =
      KEDGE_TRY(read_stored_runs(database, [this](const auto& work) { return read(work); }, index));
  dormant = std::move(stored.journaled);
  index.fill(std::move(stored.entries));
  return {};
}

Result<void> Store::Impl::reload(Database& database, const RunKey& key) {
  std::optional<RunEntry> entry;
  KEDGE_TRY(read_run(database, key,
                     [&](std::int64_t row, RunFacts facts, const RunTexts& texts) -> Result<void> {
                       entry = KEDGE_TRY(make_entry(row, std::move(facts), texts, index));
                       return {};
                     }));
  if (!entry) {
    if (const EntryPointer old = index.find(key)) {
      forget_live(old->row);
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
  LivePointer run = KEDGE_TRY(read_live(database, *entry));
  catch_up(entry->facts, *run);
  entry->metrics = sum_up(*run);
  index.put(std::move(*entry));
  put_live(std::move(run));
  stale.erase(key);
  return {};
}

}  // namespace kedge::store
