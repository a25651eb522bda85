#include "store/dialect/transcript.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/live_run.h"
#include "store/internal/run_rows.h"
#include "store/internal/store_parts.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Packs grow by taking in smaller ones before them, up to this size.
constexpr std::size_t kPackBytes = std::size_t{256} << 10U;

// A pack is zstd of row*, row = step i64 | length u32 | text, little-endian.
constexpr std::size_t kRowHead = 12;

void append_row(std::string& out, std::int64_t step, std::string_view text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  out.append(reinterpret_cast<const char*>(&step), sizeof step);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += text;
}

Result<void> read_pack(std::string_view bytes, std::uint64_t first,
                       const std::function<void(StoredRow)>& visit) {
  for (std::size_t at = 0; at < bytes.size();) {
    StoredRow row{.n = first++, .step = 0, .text = {}};
    std::uint32_t length = 0;
    if (bytes.size() - at >= kRowHead) {
      std::memcpy(&row.step, bytes.data() + at, sizeof row.step);
      std::memcpy(&length, bytes.data() + at + sizeof row.step, sizeof length);
    }
    if (bytes.size() - at < kRowHead || length > bytes.size() - at - kRowHead) {
      return fail(ErrorKind::Corrupt, "rows of history in the store are damaged");
    }
    row.text = bytes.substr(at + kRowHead, length);
    at += kRowHead + length;
    visit(std::move(row));
  }
  return {};
}

// Rows that follow each other, as they lie in the database.
struct Pack {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::size_t size = 0;
  std::int64_t min_step = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_step = std::numeric_limits<std::int64_t>::min();
  std::string bytes = {};

  void add(std::int64_t step, std::string_view text) {
    append_row(bytes, step, text);
    ++count;
    min_step = std::min(min_step, step);
    max_step = std::max(max_step, step);
  }
};

// The rows of one stream of a run.
class RowTable {
 public:
  RowTable(Database& database, std::int64_t run, RowStream stream)
      : database_(database), run_(run), stream_(static_cast<std::int64_t>(stream)) {}

  Result<std::uint64_t> total() {
    return static_cast<std::uint64_t>(KEDGE_TRY(
        database_.query_integer("SELECT coalesce(max(first_row + row_count), 0) FROM history_rows "
                                "WHERE run = $1 AND stream = $2",
                                {run_, stream_})));
  }

  Result<void> read(const RowQuery& query, const std::function<void(StoredRow)>& visit) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const std::uint64_t end =
        query.limit < kMost - std::min(query.from, kMost) ? query.from + query.limit : kMost;
    return database_.query(
        "SELECT first_row, data FROM history_rows WHERE run = $1 AND stream = $2 "
        "AND first_row < $3 AND first_row + row_count > $4 AND min_step <= $5 AND max_step >= $6 "
        "ORDER BY first_row",
        {run_, stream_, end, query.from, query.max_step, query.min_step},
        [&](const SqlRow& row) -> Result<void> {
          const std::string bytes = KEDGE_TRY(decompress(row.blob(1)));
          return read_pack(bytes, row.count(0), [&](StoredRow found) {
            if (found.n >= query.from && found.n < end && found.step >= query.min_step &&
                found.step <= query.max_step) {
              visit(std::move(found));
            }
          });
        });
  }

  // Rows from `count` on are no more.
  Result<void> cut(std::uint64_t count) {
    Pack kept;
    KEDGE_TRY(
        database_.query("SELECT first_row, data FROM history_rows WHERE run = $1 AND stream = $2 "
                        "AND first_row < $3 AND first_row + row_count > $3",
                        {run_, stream_, count}, [&](const SqlRow& row) -> Result<void> {
                          kept.first = row.count(0);
                          const std::string bytes = KEDGE_TRY(decompress(row.blob(1)));
                          return read_pack(bytes, kept.first, [&](const StoredRow& found) {
                            if (found.n < count) {
                              kept.add(found.step, found.text);
                            }
                          });
                        }));
    KEDGE_TRY(database_.run(
        "DELETE FROM history_rows WHERE run = $1 AND stream = $2 AND first_row + row_count > $3",
        {run_, stream_, count}));
    return kept.count > 0 ? insert(kept) : Result<void>();
  }

  Result<void> append(Pack pack) {
    for (const Pack& before : KEDGE_TRY(find_last())) {
      if (before.first + before.count != pack.first || before.size > pack.bytes.size() ||
          before.size + pack.bytes.size() > kPackBytes) {
        break;
      }
      KEDGE_TRY(take_in(before, pack));
    }
    return insert(pack);
  }

 private:
  // Newest first.
  Result<std::vector<Pack>> find_last() {
    return database_.list(
        "SELECT first_row, row_count, byte_count, min_step, max_step FROM history_rows "
        "WHERE run = $1 AND stream = $2 ORDER BY first_row DESC LIMIT 16",
        {run_, stream_}, [](const SqlRow& row) {
          return Pack{.first = row.count(0),
                      .count = row.count(1),
                      .size = row.count(2),
                      .min_step = row.integer(3),
                      .max_step = row.integer(4)};
        });
  }

  Result<void> take_in(const Pack& before, Pack& pack) {
    KEDGE_TRY(database_.query(
        "DELETE FROM history_rows WHERE run = $1 AND stream = $2 AND first_row = $3 RETURNING data",
        {run_, stream_, before.first}, [&](const SqlRow& row) -> Result<void> {
          pack.bytes.insert(0, KEDGE_TRY(decompress(row.blob(0))));
          return {};
        }));
    pack.first = before.first;
    pack.count += before.count;
    pack.min_step = std::min(pack.min_step, before.min_step);
    pack.max_step = std::max(pack.max_step, before.max_step);
    return {};
  }

  Result<void> insert(const Pack& pack) {
    return database_.run(
        "INSERT INTO history_rows (run, stream, first_row, row_count, byte_count, min_step,"
        " max_step, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        {run_, stream_, pack.first, pack.count, pack.bytes.size(), pack.min_step, pack.max_step,
         Blob{compress(pack.bytes)}});
  }

  Database& database_;
  std::int64_t run_;
  std::int64_t stream_;
};

// How many of the batch's first rows are already there, word for word.
Result<std::size_t> count_known(RowTable& table, const RowBatch& batch) {
  std::size_t known = 0;
  KEDGE_TRY(table.read({.stream = batch.stream, .from = batch.from, .limit = batch.rows.size()},
                       [&](const StoredRow& row) {
                         const std::size_t place = static_cast<std::size_t>(row.n - batch.from);
                         if (place == known && batch.rows[place].text == row.text) {
                           ++known;
                         }
                       }));
  return known;
}

// The step that goes before row number `count`; -1: there is none.
Result<std::int64_t> find_step_before(RowTable& table, RowStream stream, std::uint64_t count) {
  std::int64_t step = -1;
  if (count > 0) {
    KEDGE_TRY(table.read({.stream = stream, .from = count - 1, .limit = 1},
                         [&](const StoredRow& row) { step = row.step; }));
  }
  return step;
}

}  // namespace

Result<void> begin_attempt(Store::Impl& store, Database& database, LiveRun& run,
                           std::int64_t from_step, std::int64_t now_us) {
  const RunFacts& facts = store.change(run, kChangedFacts).facts;
  std::vector<Attempt> before = KEDGE_TRY(read_attempts(database, run.row));
  settle_attempts(before, facts);
  if (!before.empty()) {  // how it ended is forgotten when the run is running again
    KEDGE_TRY(write_attempt(database, run.row, before.back()));
  }
  Attempt attempt{.number = facts.attempt + 1, .host = facts.host, .started_us = now_us};
  attempt.from_step = from_step;
  KEDGE_TRY(store.add_attempt(database, run, attempt));
  store.set_state(run, RunState::Running, now_us);
  run.draft->facts.last_step.reset();
  if (from_step >= 0) {
    run.draft->facts.last_step = from_step;
  }
  return {};
}

namespace {

void add_row_values(Store::Impl& store, LiveRun& run, const HistoryRow& row, MetricKind kind) {
  RunDraft& draft = store.change(run, kChangedMetrics);
  for (const auto& [name, value] : row.values) {
    const std::size_t place =
        find_or_add_series(run, draft.facts.attempt, kind, name, store.index.metric_keys);
    store.add_point(run, place, {.step = row.step, .time_us = row.time_us, .value = value});
  }
  if (kind == MetricKind::Metric) {
    draft.facts.last_step = std::max(draft.facts.last_step.value_or(row.step), row.step);
  }
}

// Alerts come at once and rows in bundles: an alert's step is that of the last row before it.
Result<void> place_alerts(Database& database, const LiveRun& run, const RowBatch& batch) {
  const auto alerts = KEDGE_TRY(
      database.list("SELECT id, time_us FROM records WHERE run = $1 AND type = 'alert'", {run.row},
                    [](const SqlRow& row) { return std::pair(row.integer(0), row.integer(1)); }));
  for (const auto& [id, time_us] : alerts) {
    std::int64_t step = -1;
    for (const HistoryRow& row : batch.rows) {
      step = row.time_us <= time_us ? std::max(step, row.step) : step;
    }
    KEDGE_TRY(database.run("UPDATE records SET step = $2 WHERE id = $1 AND step < $2", {id, step}));
  }
  return {};
}

Result<void> take_rows(Store::Impl& store, Database& database, LiveRun& run, const RowBatch& batch,
                       std::size_t known) {
  const auto kind = batch.stream == RowStream::History ? MetricKind::Metric : MetricKind::System;
  Pack pack{.first = batch.from + known};
  for (std::size_t i = known; i < batch.rows.size(); ++i) {
    const HistoryRow& row = batch.rows[i];
    pack.add(row.step, row.text);
    add_row_values(store, run, row, kind);
    for (Record record : row.records) {
      record.attempt = run.draft->facts.attempt;
      KEDGE_TRY(write_record(database, run.row, record));
      store.change(run, kChangedRecords);
    }
  }
  if (kind == MetricKind::Metric) {
    KEDGE_TRY(place_alerts(database, run, batch));
  }
  return RowTable(database, run.row, batch.stream).append(std::move(pack));
}

}  // namespace

Result<RowsAnswer> TranscriptChange::put_rows(const RowBatch& batch) {
  note_life();
  RowTable table(database_, run_.row, batch.stream);
  RowsAnswer answer{.total = KEDGE_TRY(table.total())};
  const std::size_t known = batch.from < answer.total ? KEDGE_TRY(count_known(table, batch)) : 0;
  if (known == batch.rows.size()) {
    return answer;
  }
  const std::uint64_t next = batch.from + known;
  if (next < answer.total) {
    const std::int64_t step = KEDGE_TRY(find_step_before(table, batch.stream, next));
    KEDGE_TRY(table.cut(next));
    if (batch.stream == RowStream::History) {
      KEDGE_TRY(begin_attempt(store_, database_, run_, step, now_us_));
    }
  }
  answer.accepted = batch.rows.size() - known;
  answer.total = batch.from + batch.rows.size();
  KEDGE_TRY(take_rows(store_, database_, run_, batch, known));
  return answer;
}

Result<void> TranscriptChange::put_document(const std::string& name, const std::string& text) {
  store_.change(run_, kChangedFacts);
  return database_.run(
      "INSERT INTO dialect_documents (run, name, body) VALUES ($1, $2, $3) "
      "ON CONFLICT (run, name) DO UPDATE SET body = excluded.body",
      {run_.row, name, make_valid_text(text)});
}

Result<void> TranscriptChange::edit(const std::function<Result<RunPatch>(const Run&)>& edit) {
  return edit_live(database_, store_, run_, edit, now_us_);
}

void TranscriptChange::note_life() {
  store_.note_life(run_, now_us_);
}

Result<void> Transcript::change(const RunKey& key, std::int64_t now_us,
                                const std::function<Result<void>(TranscriptChange&)>& work) {
  const Tables tables(store_);
  return tables.change([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(tables.parts().touch(database, key));
    TranscriptChange change(tables.parts(), database, *run, now_us);
    return work(change);
  });
}

Result<RowsAnswer> Transcript::put_rows(const RunKey& key, const RowBatch& batch,
                                        std::int64_t now_us) {
  RowsAnswer answer;
  KEDGE_TRY(change(key, now_us, [&](TranscriptChange& change) -> Result<void> {
    answer = KEDGE_TRY(change.put_rows(batch));
    return {};
  }));
  return answer;
}

Result<void> Transcript::put_document(const RunKey& key, const std::string& name,
                                      const std::string& text) {
  return change(key, 0, [&](TranscriptChange& change) { return change.put_document(name, text); });
}

Result<std::uint64_t> Transcript::rewind(const RunKey& key, std::int64_t step,
                                         std::int64_t now_us) {
  const Tables tables(store_);
  return tables.change([&](Database& database) -> Result<std::uint64_t> {
    LiveRun* run = KEDGE_TRY(tables.parts().touch(database, key));
    tables.parts().note_life(*run, now_us);
    RowTable table(database, run->row, RowStream::History);
    std::uint64_t kept = KEDGE_TRY(table.total());
    if (step != std::numeric_limits<std::int64_t>::max()) {
      KEDGE_TRY(table.read({.min_step = step + 1},
                           [&](const StoredRow& row) { kept = std::min(kept, row.n); }));
    }
    KEDGE_TRY(table.cut(kept));
    KEDGE_TRY(begin_attempt(tables.parts(), database, *run, step, now_us));
    return kept;
  });
}

Result<void> Transcript::clear(const RunKey& key) {
  const Tables tables(store_);
  return tables.change([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(tables.parts().touch(database, key));
    tables.parts().change(*run, kChangedConsole).console.clear();
    run->draft->is_console_cut = true;
    KEDGE_TRY(RowTable(database, run->row, RowStream::Events).cut(0));
    return database.run("DELETE FROM console WHERE run = $1", {run->row});
  });
}

Result<std::uint64_t> Transcript::count_rows(const RunKey& key, RowStream stream) const {
  const EntryPointer entry = KEDGE_TRY(Tables(store_).parts().find_entry(key));
  return Tables(store_).read(
      [&](Database& database) { return RowTable(database, entry->row, stream).total(); });
}

Result<std::vector<StoredRow>> Transcript::read_rows(const RunKey& key,
                                                     const RowQuery& query) const {
  const EntryPointer entry = KEDGE_TRY(Tables(store_).parts().find_entry(key));
  return Tables(store_).read([&](Database& database) -> Result<std::vector<StoredRow>> {
    std::vector<StoredRow> rows;
    KEDGE_TRY(RowTable(database, entry->row, query.stream).read(query, [&](StoredRow row) {
      rows.push_back(std::move(row));
    }));
    return rows;
  });
}

Result<std::optional<std::string>> Transcript::find_document(const RunKey& key,
                                                             const std::string& name) const {
  const EntryPointer entry = KEDGE_TRY(Tables(store_).parts().find_entry(key));
  return Tables(store_).find("SELECT body FROM dialect_documents WHERE run = $1 AND name = $2",
                             {entry->row, name}, first_text);
}

Result<std::map<std::string, std::string>> Transcript::find_documents(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(Tables(store_).parts().find_entry(key));
  const auto found = KEDGE_TRY(Tables(store_).list(
      "SELECT name, body FROM dialect_documents WHERE run = $1", {entry->row},
      [](const SqlRow& row) { return std::pair(row.string(0), row.string(1)); }));
  return std::map<std::string, std::string>(found.begin(), found.end());
}

}  // namespace kedge::store
