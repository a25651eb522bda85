// What a Store is made of; shared by the files that implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/live_run.h"
#include "store/internal/project_table.h"
#include "store/internal/run_index.h"
#include "store/internal/run_rows.h"
#include "store/internal/writer.h"
#include "store/store.h"

namespace kedge::store {

using LivePointer = std::shared_ptr<LiveRun>;  // shared by the writer and readers of its tails

class Store::Impl {
 public:
  Impl(std::string where, std::int64_t now_us) : address(std::move(where)), opened_us(now_us) {}

  // Reads everything that lists and searches need, and the journal.
  Result<void> load(Database& database);
  void start(std::unique_ptr<Database> owner, WriterLimits limits);

  // --- for readers
  Result<EntryPointer> find_entry(const RunKey& key) const;  // NotFound
  // Null: nothing is in the journal. Not for the writer's thread, which may have to load it.
  Result<LivePointer> find_live(const RunEntry& entry);
  // Runs `work` on a connection of its own, again when the connection was lost.
  Result<void> read(const std::function<Result<void>(Database&)>& work) const;

  // --- for jobs, on the writer's thread
  // The run with a draft for this transaction. NotFound.
  Result<LiveRun*> touch(Database& database, const RunKey& key);
  Result<LiveRun*> touch_or_create(Database& database, const RunKey& key, std::int64_t now_us);
  Result<LiveRun*> create(Database& database, const RunKey& key, std::int64_t now_us);
  // Must come before the first change that a job makes in memory.
  RunDraft& change(LiveRun& run, unsigned what);
  // The same for points of the run's own attempt alone: the journal tells of them, and the run's
  // row need not be written.
  RunDraft& extend(LiveRun& run, std::int64_t now_us);
  Result<void> apply_patch(Database& database, LiveRun& run, const RunPatch& patch);
  // The same, and what a new state means for the times.
  Result<void> apply_patch(Database& database, LiveRun& run, const RunPatch& patch,
                           std::int64_t now_us);
  // Changes facts of all runs of a project, which may get another name by it. In the tables the
  // caller has done it.
  void edit_project(const std::string& project, std::function<void(RunFacts&)> edit);
  Result<void> add_attempt(Database& database, LiveRun& run, const Attempt& attempt);
  void add_point(LiveRun& run, std::size_t place, const Point& point);
  // What any word from a run means: it is alive.
  void note_life(LiveRun& run, std::int64_t now_us);
  void set_state(LiveRun& run, RunState state, std::int64_t time_us);

  std::string address;
  std::int64_t opened_us;
  RunIndex index;
  ProjectTable projects;

  mutable std::mutex live_mutex;
  std::unordered_map<std::int64_t, LivePointer> live;
  // Rows of runs with a journal that nobody has asked for since the store was opened.
  std::unordered_set<std::int64_t> dormant;

  std::mutex listener_mutex;
  std::function<void(std::span<const Change>)> listener;

  mutable std::mutex readers_mutex;
  mutable std::vector<std::unique_ptr<Database>> readers;  // idle

  // The writer's own.
  std::map<RunKey, LivePointer> touched;
  std::vector<std::pair<RunKey, std::int64_t>> deleted;
  std::vector<std::pair<std::string, std::function<void(RunFacts&)>>> project_edits;
  std::uint64_t change_count = 0;
  std::set<RunKey> stale;  // memory may be wrong: look at the database before the next change

  std::unique_ptr<Writer> writer;  // last: its thread uses the rest

 private:
  // On the writer's thread: from the journal and the tables; and where it is not in memory yet.
  Result<LivePointer> read_live(Database& database, const RunEntry& entry);
  Result<LivePointer> load_live(Database& database, const RunEntry& entry);
  void put_live(LivePointer run);
  void forget_live(std::int64_t row);
  // Puts what the database says in place of what memory says.
  Result<void> reload(Database& database, const RunKey& key);
  Result<void> flush(Database& database);
  void on_commit();
  void on_rollback(Database& database);
  void publish(LiveRun& run);
};

// A sign of life alone: written, but not told to the listener.
inline constexpr unsigned kHeartbeat = 1U << 16U;

// Project and id become parts of addresses and folders.
Result<void> check_key(const RunKey& key);

// One change of what is there now, with what the transaction under way has done so far.
Result<void> edit_live(Database& database, Store::Impl& impl, LiveRun& run,
                       const std::function<Result<RunPatch>(const Run&)>& edit,
                       std::int64_t now_us);

// How many lines the run's console has after these.
Result<void> write_console(Database& database, LiveRun& run);

Result<void> write_record(Database& database, std::int64_t run, const Record& record);

}  // namespace kedge::store
