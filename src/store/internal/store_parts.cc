#include "store/internal/store_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/live_run.h"
#include "store/internal/run_rows.h"
#include "store/internal/sealing.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

bool is_run_id(const std::string& text) {
  constexpr std::size_t kMaxLength = 128;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= kMaxLength && text != "." && text != ".." &&
         std::ranges::all_of(text, is_allowed);
}

Result<void> write_sources(Database& database, const LiveRun& run) {
  for (const auto& [writer, state] : run.draft->sources) {
    KEDGE_TRY(
        database.run("INSERT INTO sources (run, writer, next_seq, byte_offset, digest) "
                     "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (run, writer) DO UPDATE SET"
                     " next_seq = excluded.next_seq, byte_offset = excluded.byte_offset,"
                     " digest = excluded.digest",
                     {run.row, writer, state.next_seq, state.offset, state.digest}));
  }
  return {};
}

}  // namespace

Result<void> check_key(const RunKey& key) {
  KEDGE_TRY(check_project_name(key.project));
  if (!is_run_id(key.id)) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot be a run's id", key.id),
                "use 1 to 128 letters, digits, '.', '-' and '_'");
  }
  return {};
}

void Store::Impl::start(std::unique_ptr<Database> owner, WriterLimits limits) {
  WriterHooks hooks{.flush = [this](Database& database) { return flush(database); },
                    .on_commit = [this] { on_commit(); },
                    .on_rollback = [this](Database& database) { on_rollback(database); },
                    .change_count = [this] { return change_count; }};
  writer = std::make_unique<Writer>(std::move(owner), std::move(hooks), limits);
}

Result<EntryPointer> Store::Impl::find_entry(const RunKey& key) const {
  EntryPointer entry = index.find(key);
  if (entry == nullptr) {
    return fail(ErrorKind::NotFound, fmt::format("there is no run {}/{}", key.project, key.id));
  }
  return entry;
}

Result<void> Store::Impl::read(const std::function<Result<void>(Database&)>& work) const {
  std::unique_ptr<Database> database;
  {
    const std::lock_guard lock(readers_mutex);
    if (!readers.empty()) {
      database = std::move(readers.back());
      readers.pop_back();
    }
  }
  const bool is_used = database != nullptr;
  if (!is_used) {
    database = KEDGE_TRY(open_database(address, Access::Reader));
  }
  Result<void> result = work(*database);
  if (!result && result.error().kind == ErrorKind::Unavailable && is_used &&
      database->reconnect()) {
    result = work(*database);
  }
  if (result || result.error().kind != ErrorKind::Unavailable) {
    const std::lock_guard lock(readers_mutex);
    readers.push_back(std::move(database));
  }
  return result;
}

Result<LiveRun*> Store::Impl::touch(Database& database, const RunKey& key) {
  if (const auto found = touched.find(key); found != touched.end()) {
    if (found->second->draft->is_deleted) {
      return fail(ErrorKind::NotFound, fmt::format("there is no run {}/{}", key.project, key.id));
    }
    return found->second.get();
  }
  if (stale.contains(key)) {
    KEDGE_TRY(reload(database, key));
  }
  const EntryPointer entry = KEDGE_TRY(find_entry(key));
  LivePointer run = KEDGE_TRY(load_live(database, *entry));
  run->draft = std::make_unique<RunDraft>();
  run->draft->facts = entry->facts;
  run->draft->beginnings = entry->beginnings;
  touched.emplace(key, run);
  return run.get();
}

Result<LiveRun*> Store::Impl::touch_or_create(Database& database, const RunKey& key,
                                              std::int64_t now_us) {
  auto run = touch(database, key);
  if (run || run.error().kind != ErrorKind::NotFound) {
    return run;
  }
  return create(database, key, now_us);
}

Result<LiveRun*> Store::Impl::create(Database& database, const RunKey& key, std::int64_t now_us) {
  KEDGE_TRY(check_key(key));
  auto run = std::make_shared<LiveRun>();
  run->key = key;
  run->draft = std::make_unique<RunDraft>();
  RunFacts& facts = run->draft->facts;
  facts.project = key.project;
  facts.id = key.id;
  facts.name = key.id;
  facts.created_us = now_us;
  facts.heartbeat_us = now_us;
  auto project = projects.find(key.project);
  if (!project) {
    project = KEDGE_TRY(projects.add(database, {.name = key.project}, now_us));
  } else if (project->deleted_us != 0) {  // whoever sends runs has not thrown it away
    project->deleted_us = 0;
    KEDGE_TRY(projects.update(database, *project));
  }
  run->row = KEDGE_TRY(insert_run(database, project->id, facts));
  touched[key] = run;
  change(*run, kChangedFacts);
  return run.get();
}

RunDraft& Store::Impl::change(LiveRun& run, unsigned what) {
  ++change_count;
  run.draft->changes |= what;
  run.draft->must_write_row = true;
  return *run.draft;
}

RunDraft& Store::Impl::extend(LiveRun& run, std::int64_t now_us) {
  if (run.draft->facts.state == RunState::Crashed) {
    note_life(run, now_us);
  }
  ++change_count;
  RunDraft& draft = *run.draft;
  draft.changes |= kChangedMetrics | kHeartbeat;
  draft.facts.heartbeat_us = std::max(draft.facts.heartbeat_us, now_us);
  return draft;
}

Result<void> Store::Impl::flush(Database& database) {
  for (const auto& [key, run] : touched) {
    if (run->draft->changes == 0 || run->draft->is_deleted) {
      continue;
    }
    if (run->draft->facts.state != RunState::Running) {
      run->draft->must_seal = true;
    }
    KEDGE_TRY(write_points(database, *run));
    KEDGE_TRY(write_console(database, *run));
    KEDGE_TRY(write_sources(database, *run));
    if (run->draft->must_write_row || run->draft->is_sealed || run->draft->fresh.empty()) {
      KEDGE_TRY(update_run(database, run->row, run->draft->facts));
    }
  }
  return {};
}

void Store::Impl::publish(LiveRun& run) {
  RunDraft& draft = *run.draft;
  const bool has_points = !draft.fresh.empty() || !draft.recounted.empty();
  publish_points(run);
  for (auto& [writer_name, state] : draft.sources) {
    run.sources[writer_name] = state;
  }
  run.console_lines = (draft.is_console_cut ? 0 : run.console_lines) + draft.console.size();
  const EntryPointer old = index.find(run.key);
  RunEntry entry = old == nullptr ? RunEntry() : *old;
  entry.row = run.row;
  entry.facts = draft.facts;
  entry.beginnings = draft.beginnings;
  if (draft.config_values) {
    entry.config_values = std::move(*draft.config_values);
  }
  if (draft.summary_values) {
    entry.summary_values = std::move(*draft.summary_values);
  }
  if (draft.label_values) {
    entry.label_values = std::move(*draft.label_values);
  }
  constexpr std::size_t kFewSeries = 16;  // each new one moves those behind it
  if (has_points && draft.recounted.empty() && draft.fresh.size() <= kFewSeries) {
    sum_up_again(entry.metrics, run, draft.fresh);
  } else if (has_points) {
    entry.metrics = sum_up(run);
  }
  index.put(std::move(entry));
}

void Store::Impl::on_commit() {
  std::vector<Change> changes;
  for (const auto& [key, row] : deleted) {
    index.erase(key);
    forget_live(row);
    changes.push_back({.run = key, .what = kRunDeleted});
  }
  for (const auto& [project, edit] : std::exchange(project_edits, {})) {
    index.edit_project(project, edit);
  }
  for (const auto& [key, run] : touched) {
    if (run->draft->is_deleted) {
      continue;
    }
    if (run->draft->changes != 0) {
      publish(*run);
    }
    if (const unsigned what = run->draft->changes & ~kHeartbeat; what != 0) {
      changes.push_back({.run = key, .what = what, .last_step = run->draft->facts.last_step});
    }
    const bool is_over = run->draft->facts.state != RunState::Running && run->journal_bytes == 0;
    run->draft.reset();
    const std::lock_guard lock(live_mutex);
    if (is_over) {
      live.erase(run->row);  // all of it is in chunks
    } else {
      live[run->row] = run;
    }
  }
  touched.clear();
  deleted.clear();
  const std::lock_guard lock(listener_mutex);
  if (listener && !changes.empty()) {
    listener(changes);
  }
}

void Store::Impl::on_rollback(Database& database) {
  const auto old = std::exchange(touched, {});
  deleted.clear();
  project_edits.clear();
  (void)projects.load(database, opened_us);  // else it knows names too many, which harms nobody
  for (const auto& [key, run] : old) {
    if (!reload(database, key)) {
      stale.insert(key);  // readers keep what was committed before
    }
  }
}

}  // namespace kedge::store
