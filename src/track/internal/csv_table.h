// A CSV of epochs that grows by a row at a time. A column that appears late is added on the right,
// with empty cells in the rows before.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

class CsvTable {
 public:
  // The file is made (and an older one replaced) by the first row.
  explicit CsvTable(Path path) : path_(std::move(path)) {}

  // Goes on with the file of an earlier attempt: rows beyond `last_epoch` and rows that are not
  // whole are cut. A file that is no such table is kept as <name>.old, and a new one begun.
  static Result<CsvTable> resume(const Path& path, std::int64_t last_epoch);

  Result<void> add_row(std::int64_t epoch, std::int64_t step,
                       const std::vector<std::pair<std::string, double>>& values);

  // To the disk, when there is a file.
  Result<void> sync();

 private:
  Result<void> write_all_again(const std::vector<std::string>& new_columns, const std::string& row);
  Result<void> append(const std::string& row);

  Path path_;
  std::vector<std::string> columns_;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace kedge::track
