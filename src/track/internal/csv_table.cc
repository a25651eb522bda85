#include "track/internal/csv_table.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "core/result.h"

namespace kedge::track {
namespace {

// RFC 4180: quoted where a comma, a quote or a line end would be misread.
std::string quote(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string render_header(const std::vector<std::string>& columns) {
  std::string header = "epoch,step";
  for (const std::string& column : columns) {
    header += "," + quote(column);
  }
  return header + "\n";
}

struct Line {
  std::vector<std::string> cells;
  std::string_view text;  // with its line end
};

// The next line of RFC 4180 text, removed from it; nothing when it has no end.
std::optional<Line> take_line(std::string_view& text) {
  Line line;
  std::string cell;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        is_quoted = false;
      }
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == ',' || c == '\n') {
      line.cells.push_back(std::exchange(cell, {}));
      if (c == '\n') {
        line.text = text.substr(0, i + 1);
        text.remove_prefix(i + 1);
        return line;
      }
    } else if (c != '\r') {
      cell += c;
    }
  }
  return std::nullopt;
}

bool is_kept(const Line& line, std::size_t columns, std::int64_t last_epoch) {
  if (line.cells.size() != columns) {
    return false;
  }
  const std::string& cell = line.cells.front();
  std::int64_t epoch = 0;
  const auto parsed = std::from_chars(cell.data(), cell.data() + cell.size(), epoch);
  return parsed.ec == std::errc{} && parsed.ptr == cell.data() + cell.size() && epoch <= last_epoch;
}

}  // namespace

Result<CsvTable> CsvTable::resume(const Path& path, std::int64_t last_epoch) {
  CsvTable table(path);
  const auto old = read_file(path);
  if (!old) {
    return old.error().kind == ErrorKind::NotFound ? Result<CsvTable>(std::move(table))
                                                   : std::unexpected(old.error());
  }
  std::string_view rest(*old);
  const auto header = take_line(rest);
  if (!header || header->cells.size() < 2 || header->cells[0] != "epoch" ||
      header->cells[1] != "step") {
    KEDGE_TRY(write_file_atomic(path.string() + ".old", *old));
    warn("{} is not the table this run wrote; kept as {}.old", path.string(), path.string());
    return table;
  }
  table.columns_.assign(header->cells.begin() + 2, header->cells.end());
  std::string content = render_header(table.columns_);
  table.header_bytes_ = content.size();
  while (const auto line = take_line(rest)) {
    if (is_kept(*line, header->cells.size(), last_epoch)) {
      content += line->text;
    }
  }
  KEDGE_TRY(write_file_atomic(path, content));
  table.size_ = content.size();
  return table;
}

Result<void> CsvTable::sync() {
  const OwnedFd fd(size_ == 0 ? -1 : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (size_ != 0 && (fd.get() < 0 || ::fdatasync(fd.get()) != 0)) {
    return std::unexpected(io_error("cannot sync", path_, errno));
  }
  return {};
}

Result<void> CsvTable::add_row(std::int64_t epoch, std::int64_t step,
                               const std::vector<std::pair<std::string, double>>& values) {
  std::vector<std::string> new_columns;
  for (const auto& [key, value] : values) {
    if (std::ranges::find(columns_, key) == columns_.end() &&
        std::ranges::find(new_columns, key) == new_columns.end()) {
      new_columns.push_back(key);
    }
  }
  std::vector<std::string> all = columns_;
  all.insert(all.end(), new_columns.begin(), new_columns.end());
  std::string row = fmt::format("{},{}", epoch, step);
  for (const std::string& column : all) {
    const auto found = std::ranges::find(values, column, &std::pair<std::string, double>::first);
    // fmt prints the shortest digits that read back as the same number.
    row += found == values.end() ? "," : fmt::format(",{}", found->second);
  }
  row += "\n";
  if (size_ == 0 || !new_columns.empty()) {
    return write_all_again(new_columns, row);
  }
  return append(row);
}

Result<void> CsvTable::write_all_again(const std::vector<std::string>& new_columns,
                                       const std::string& row) {
  std::vector<std::string> columns = columns_;
  columns.insert(columns.end(), new_columns.begin(), new_columns.end());
  const std::string header = render_header(columns);
  std::string content = header;
  if (size_ != 0) {
    const std::string old = KEDGE_TRY(read_file(path_));
    const auto rows = std::string_view(old).substr(
        std::min<std::size_t>(old.size(), static_cast<std::size_t>(header_bytes_)),
        static_cast<std::size_t>(size_ - header_bytes_));
    for (const char c : rows) {
      content += c == '\n' ? std::string(new_columns.size(), ',') + "\n" : std::string(1, c);
    }
  }
  content += row;
  KEDGE_TRY(write_file_atomic(path_, content));
  columns_ = std::move(columns);
  header_bytes_ = header.size();
  size_ = content.size();
  return {};
}

// At the known end, so that a row cut by a full disk is overwritten by the next.
Result<void> CsvTable::append(const std::string& row) {
  const OwnedFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0 || ::lseek(fd.get(), static_cast<off_t>(size_), SEEK_SET) < 0) {
    return std::unexpected(io_error("cannot write", path_, errno));
  }
  KEDGE_TRY(write_all(fd.get(), row, path_));
  size_ += row.size();
  return {};
}

}  // namespace kedge::track
