#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/internal/store_parts.h"
#include "store/internal/text.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Rows grow by taking in smaller ones before them, up to this size.
constexpr std::size_t kRowBytes = std::size_t{64} << 10U;

// A row is zstd of line*, line = time in microseconds i64 | length u32 | text, little-endian.
constexpr std::size_t kLineHead = 12;

void append_line(std::string& out, const ConsoleLine& line) {
  const auto length = static_cast<std::uint32_t>(line.text.size());
  out.append(reinterpret_cast<const char*>(&line.time_us), sizeof line.time_us);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += line.text;
}

Result<void> read_lines(std::string_view packed, std::uint64_t first,
                        const std::function<void(ConsoleLine)>& visit) {
  const std::string bytes = KEDGE_TRY(decompress(packed));
  for (std::size_t at = 0; at < bytes.size();) {
    ConsoleLine line{.n = first++, .time_us = 0, .text = {}};
    std::uint32_t length = 0;
    if (bytes.size() - at >= kLineHead) {
      std::memcpy(&line.time_us, bytes.data() + at, sizeof line.time_us);
      std::memcpy(&length, bytes.data() + at + sizeof line.time_us, sizeof length);
    }
    if (bytes.size() - at < kLineHead || length > bytes.size() - at - kLineHead) {
      return fail(ErrorKind::Corrupt, "console lines in the store are damaged");
    }
    line.text = bytes.substr(at + kLineHead, length);
    at += kLineHead + length;
    visit(std::move(line));
  }
  return {};
}

struct ConsoleRow {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::size_t size = 0;
};

// Newest first.
Result<std::vector<ConsoleRow>> find_last_rows(Database& database, std::int64_t run) {
  std::vector<ConsoleRow> rows;
  KEDGE_TRY(database.query(
      "SELECT first_line, line_count, byte_count FROM console WHERE run = $1 "
      "ORDER BY first_line DESC LIMIT 16",
      {run}, [&](const SqlRow& row) -> Result<void> {
        rows.push_back({row.integer(0), row.integer(1), static_cast<std::size_t>(row.integer(2))});
        return {};
      }));
  return rows;
}

// The lines of a row, which is no more.
Result<std::string> take_row(Database& database, std::int64_t run, std::int64_t first_line) {
  std::string lines;
  KEDGE_TRY(database.query("DELETE FROM console WHERE run = $1 AND first_line = $2 RETURNING data",
                           {run, first_line}, [&](const SqlRow& row) -> Result<void> {
                             lines = KEDGE_TRY(decompress(row.blob(0)));
                             return {};
                           }));
  return lines;
}

}  // namespace

Result<void> write_console(Database& database, LiveRun& run) {
  if (run.draft->console.empty()) {
    return {};
  }
  std::string bytes;
  for (const ConsoleLine& line : run.draft->console) {
    append_line(bytes, line);
  }
  ConsoleRow whole{.first = static_cast<std::int64_t>(run.console_lines),
                   .count = static_cast<std::int64_t>(run.draft->console.size())};
  for (const ConsoleRow& row : KEDGE_TRY(find_last_rows(database, run.row))) {
    if (row.size > bytes.size() || row.size + bytes.size() > kRowBytes) {
      break;
    }
    bytes.insert(0, KEDGE_TRY(take_row(database, run.row, row.first)));
    whole.first = row.first;
    whole.count += row.count;
  }
  return database.run(
      "INSERT INTO console (run, first_line, line_count, byte_count, data) "
      "VALUES ($1, $2, $3, $4, $5)",
      {run.row, whole.first, whole.count, bytes.size(), Blob{compress(bytes)}});
}

Result<void> Store::add_console(const RunKey& key, std::vector<ConsoleLine> lines,
                                std::int64_t now_us) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    impl_->note_life(*run, now_us);
    RunDraft& draft = impl_->change(*run, kChangedConsole);
    draft.console.insert(draft.console.end(), lines.begin(), lines.end());
    return {};
  });
}

Result<Console> Store::read_console(const RunKey& key, std::uint64_t from,
                                    std::size_t limit) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  Console console;
  std::uint64_t end = 0;
  const auto add = [&](ConsoleLine line) {
    if (line.n >= from && line.n < end) {
      console.lines.push_back(std::move(line));
    }
  };
  KEDGE_TRY(impl_->read([&](Database& database) -> Result<void> {
    console.lines.clear();
    console.total = static_cast<std::uint64_t>(KEDGE_TRY(database.query_integer(
        "SELECT coalesce(max(first_line + line_count), 0) FROM console WHERE run = $1",
        {entry->row})));
    const std::uint64_t begin = std::min(from, console.total);
    end = begin + std::min<std::uint64_t>(limit, console.total - begin);
    return database.query(
        "SELECT first_line, data FROM console WHERE run = $1 AND first_line < $3 "
        "AND first_line + line_count > $2 ORDER BY first_line",
        {entry->row, begin, end}, [&](const SqlRow& row) {
          return read_lines(row.blob(1), static_cast<std::uint64_t>(row.integer(0)), add);
        });
  }));
  return console;
}

}  // namespace kedge::store
