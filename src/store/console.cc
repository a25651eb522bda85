#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/log.h"
#include "core/redact.h"
#include "core/result.h"
#include "store/dialect/transcript.h"
#include "store/internal/store_parts.h"
#include "store/internal/text.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Rows grow by taking in smaller ones before them, up to this size.
constexpr std::size_t kRowBytes = std::size_t{64} << 10U;

// A row is zstd of line*, line = time in microseconds i64 | length u32 | text, little-endian. The
// highest bit of the length says that the line came over stderr.
constexpr std::size_t kLineHead = 12;
constexpr std::uint32_t kErrorBit = 1U << 31U;

// More lines left out than this is not a console but a mistake.
constexpr std::uint64_t kMaxGap = 1'000'000;

// Whether something was hidden in it.
bool append_line(std::string& out, const ConsoleLine& line) {
  std::string text = line.text;
  const bool is_hidden = redact_text(text);
  const std::uint32_t length =
      static_cast<std::uint32_t>(text.size()) | (line.is_error ? kErrorBit : 0U);
  out.append(reinterpret_cast<const char*>(&line.time_us), sizeof line.time_us);
  out.append(reinterpret_cast<const char*>(&length), sizeof length);
  out += text;
  return is_hidden;
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
      line.is_error = (length & kErrorBit) != 0;
      length &= ~kErrorBit;
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
  return database.list(
      "SELECT first_line, line_count, byte_count FROM console WHERE run = $1 "
      "ORDER BY first_line DESC LIMIT 16",
      {run},
      [](const SqlRow& row) { return ConsoleRow{row.integer(0), row.integer(1), row.count(2)}; });
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
  bool is_hidden = false;
  for (const ConsoleLine& line : run.draft->console) {
    is_hidden = append_line(bytes, line) || is_hidden;
  }
  if (is_hidden) {
    warn("run {}/{}: its console holds what looks like a password or a token, which is not kept",
         run.key.project, run.key.id);
  }
  const std::uint64_t first = run.draft->is_console_cut ? 0 : run.console_lines;
  ConsoleRow whole{.first = static_cast<std::int64_t>(first),
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

namespace {

// Puts other lines in the place of some that are in the table.
Result<void> rewrite_lines(Database& database, std::int64_t run,
                           const std::map<std::uint64_t, const ConsoleLine*>& lines) {
  struct Changed {
    std::int64_t first;
    std::string bytes;
  };

  std::vector<Changed> changed;
  KEDGE_TRY(database.query(
      "SELECT first_line, data FROM console WHERE run = $1 AND first_line <= $3 "
      "AND first_line + line_count > $2",
      {run, lines.begin()->first, lines.rbegin()->first}, [&](const SqlRow& row) -> Result<void> {
        Changed& whole = changed.emplace_back(Changed{row.integer(0), {}});
        return read_lines(row.blob(1), static_cast<std::uint64_t>(whole.first),
                          [&](const ConsoleLine& line) {
                            const auto found = lines.find(line.n);
                            append_line(whole.bytes, found == lines.end() ? line : *found->second);
                          });
      }));
  for (const Changed& row : changed) {
    KEDGE_TRY(database.run(
        "UPDATE console SET byte_count = $3, data = $4 WHERE run = $1 AND first_line = $2",
        {run, row.first, row.bytes.size(), Blob{compress(row.bytes)}}));
  }
  return {};
}

}  // namespace

Result<void> TranscriptChange::put_console(std::uint64_t from,
                                           const std::vector<ConsoleLine>& lines) {
  note_life();
  RunDraft& draft = store_.change(run_, kChangedConsole);
  const std::uint64_t committed = draft.is_console_cut ? 0 : run_.console_lines;
  if (from > committed + draft.console.size() + kMaxGap) {
    return fail(ErrorKind::Usage, fmt::format("the console has no line {} yet", from));
  }
  std::map<std::uint64_t, const ConsoleLine*> known;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t n = from + i;
    if (n < committed) {
      known.emplace(n, &lines[i]);
      continue;
    }
    const auto place = static_cast<std::size_t>(n - committed);
    draft.console.resize(std::max(draft.console.size(), place + 1));
    draft.console[place] = lines[i];
  }
  return known.empty() ? Result<void>() : rewrite_lines(database_, run_.row, known);
}

Result<void> Transcript::put_console(const RunKey& key, std::uint64_t from,
                                     const std::vector<ConsoleLine>& lines, std::int64_t now_us) {
  return change(key, now_us,
                [&](TranscriptChange& change) { return change.put_console(from, lines); });
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
  std::size_t bytes = 0;
  const auto add = [&](ConsoleLine line) {
    if (line.n >= from && line.n < end && bytes < kMaxTextBytes) {
      bytes += line.text.size();
      console.lines.push_back(std::move(line));
    }
  };
  KEDGE_TRY(impl_->read([&](Database& database) -> Result<void> {
    console.lines.clear();
    bytes = 0;
    console.total = static_cast<std::uint64_t>(KEDGE_TRY(database.query_integer(
        "SELECT coalesce(max(first_line + line_count), 0) FROM console WHERE run = $1",
        {entry->row})));
    const std::uint64_t begin = std::min(from, console.total);
    end = begin + std::min<std::uint64_t>(limit, console.total - begin);
    return database.query(
        "SELECT first_line, data FROM console WHERE run = $1 AND first_line < $3 "
        "AND first_line + line_count > $2 ORDER BY first_line",
        {entry->row, begin, end},
        [&](const SqlRow& row) { return read_lines(row.blob(1), row.count(0), add); });
  }));
  return console;
}

}  // namespace kedge::store
