#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/run_rows.h"
#include "store/internal/store_parts.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Smaller bodies stay readable with any SQL client.
constexpr std::size_t kPackBodyBytes = std::size_t{64} << 10U;

// Adds to `bytes` how long the body is as text.
Result<Record> read_record(const SqlRow& row, std::size_t& bytes) {
  Record record{.type = row.string(0),
                .key = row.string(1),
                .step = row.integer(2),
                .time_us = row.integer(3),
                .attempt = static_cast<int>(row.integer(4)),
                .body = {}};
  if (row.integer(5) != 0) {
    const std::string text = KEDGE_TRY(decompress(row.blob(6)));
    record.body = KEDGE_TRY(parse_json(text));
    bytes += text.size();
  } else {
    record.body = KEDGE_TRY(parse_json(row.blob(6)));
    bytes += row.blob(6).size();
  }
  return record;
}

}  // namespace

Result<void> write_record(Database& database, std::int64_t run, const Record& record) {
  const std::string text = render_json(record.body);
  const bool is_packed = text.size() > kPackBodyBytes;
  const std::string packed = is_packed ? compress(text) : "";
  return database.run(
      "INSERT INTO records (run, attempt, type, name, step, time_us, is_packed, body) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
      {run, record.attempt, make_valid_text(record.type), make_valid_text(record.key), record.step,
       record.time_us, is_packed ? 1 : 0, Blob{is_packed ? packed : text}});
}

Result<void> Store::add_records(const RunKey& key, std::vector<Record> records,
                                std::int64_t now_us) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    impl_->change(*run, kChangedRecords);
    impl_->note_life(*run, now_us);
    for (const Record& record : records) {
      KEDGE_TRY(write_record(database, run->row, record));
    }
    return {};
  });
}

Result<RecordAnswer> Store::read_records(const RunKey& key, const RecordQuery& query) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  const std::int64_t from = query.from_step.value_or(std::numeric_limits<std::int64_t>::min());
  const std::int64_t to = query.to_step.value_or(std::numeric_limits<std::int64_t>::max());
  RecordAnswer answer;
  std::size_t bytes = 0;
  const auto add_record = [&](const SqlRow& row) -> Result<void> {
    if (answer.is_cut || bytes >= kMaxTextBytes) {
      answer.is_cut = true;
      return {};
    }
    answer.records.push_back(KEDGE_TRY(read_record(row, bytes)));
    return {};
  };
  KEDGE_TRY(impl_->read([&](Database& database) -> Result<void> {
    answer = {};
    bytes = 0;
    const std::string matching =
        " FROM records WHERE run = $1 AND ($2 = '' OR type = $2) AND ($3 = '' OR name = $3)"
        " AND step >= $4 AND step <= $5";
    answer.total = static_cast<std::size_t>(KEDGE_TRY(database.query_integer(
        "SELECT COUNT(*)" + matching, {entry->row, query.type, query.key, from, to})));
    KEDGE_TRY(database.query(
        "SELECT type, name, step, time_us, attempt, is_packed, body" + matching +
            (query.offset ? " ORDER BY id" : " ORDER BY id DESC") + " LIMIT $6 OFFSET $7",
        {entry->row, query.type, query.key, from, to, query.limit, query.offset.value_or(0)},
        add_record));
    if (!query.offset) {
      std::ranges::reverse(answer.records);
    }
    answer.keys = KEDGE_TRY(
        database.list("SELECT DISTINCT name FROM records WHERE run = $1 AND ($2 = '' OR type = $2) "
                      "AND name <> '' ORDER BY name",
                      {entry->row, query.type}, first_text));
    return {};
  }));
  return answer;
}

Result<std::vector<RecordKey>> Store::list_record_keys(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  return Tables(*this).list(
      "SELECT type, name, COUNT(*) FROM records WHERE run = $1 AND name <> ''"
      " GROUP BY type, name ORDER BY type, name",
      {entry->row}, [](const SqlRow& row) {
        return RecordKey{.type = row.string(0), .key = row.string(1), .count = row.count(2)};
      });
}

Result<std::vector<Alert>> Store::list_alerts(const std::string& project, std::size_t limit) const {
  std::vector<Alert> alerts;
  std::size_t bytes = 0;
  const auto add = [&](const SqlRow& row) -> Result<void> {
    if (bytes < kMaxTextBytes) {
      Record record = KEDGE_TRY(read_record(row, bytes));
      alerts.push_back({.run = {row.string(7), row.string(8)}, .record = std::move(record)});
    }
    return {};
  };
  KEDGE_TRY(impl_->read([&](Database& database) {
    alerts.clear();
    bytes = 0;
    return database.query(
        "SELECT c.type, c.name, c.step, c.time_us, c.attempt, c.is_packed, c.body, p.name,"
        " r.run_id FROM records c JOIN runs r ON r.id = c.run"
        " JOIN projects p ON p.id = r.project_id"
        " WHERE c.type = 'alert' AND r.deleted_us = 0 AND ($1 = '' OR p.name = $1)"
        " ORDER BY c.time_us DESC LIMIT $2",
        {project, limit}, add);
  }));
  return alerts;
}

Result<void> Store::bind_file(const RunKey& key, const RunFile& file) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    KEDGE_TRY(database.run(
        "INSERT INTO files (run, path, size, digest) VALUES ($1, $2, $3, $4) "
        "ON CONFLICT (run, path) DO UPDATE SET size = excluded.size, digest = excluded.digest",
        {run->row, make_valid_text(file.path), file.size, file.digest}));
    impl_->change(*run, kChangedFiles);
    return {};
  });
}

Result<void> Store::unbind_files(const RunKey& key, const std::vector<std::string>& paths) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    for (const std::string& path : paths) {
      KEDGE_TRY(database.run("DELETE FROM files WHERE run = $1 AND path = $2", {run->row, path}));
    }
    impl_->change(*run, kChangedFiles);
    return {};
  });
}

Result<std::vector<RunFile>> Store::list_files(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  return Tables(*this).list("SELECT path, size, digest FROM files WHERE run = $1 ORDER BY path",
                            {entry->row}, read_file_row);
}

Result<std::optional<RunFile>> Store::find_file(const RunKey& key, const std::string& path) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  return Tables(*this).find("SELECT path, size, digest FROM files WHERE run = $1 AND path = $2",
                            {entry->row, path}, read_file_row);
}

}  // namespace kedge::store
