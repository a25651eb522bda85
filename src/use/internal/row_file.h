// Output that is appended batch by batch and can be resumed: rows already there stay, a torn last
// row is cut off, and the file on disk is always a whole number of rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

class RowFile {
 public:
  // `header` is the first line (empty: none); an existing file must begin with it.
  static Result<RowFile> open(const Path& path, const std::string& header);

  // Rows for whoever reads standard output: nothing is read back, cut off or resumed.
  static Result<RowFile> open_stdout(const std::string& header);

  // Rows that were there when the file was opened, the header not counted.
  const std::vector<std::string>& existing() const { return existing_; }

  // Each row without its newline. On disk when this returns.
  Result<void> append(const std::vector<std::string>& rows);

 private:
  Path path_;
  OwnedFd fd_;
  std::vector<std::string> existing_;
};

}  // namespace kedge::use
