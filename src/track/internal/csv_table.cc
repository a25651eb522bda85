#include "track/internal/csv_table.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/file.h"
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

}  // namespace

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
