// CSV as RFC 4180 has it, read row by row: quotes, doubled quotes, line ends inside quotes, LF or
// CRLF, a byte order mark. Lines without anything in them are no rows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge::exchange {

struct CsvCell {
  std::string text;
  bool is_quoted = false;
};

class CsvReader {
 public:
  // The text must live as long as the reader.
  explicit CsvReader(std::string_view text);

  // The next row, or nothing at the end. Corrupt, naming the line, when a quote is not closed or
  // something follows it.
  Result<std::optional<std::vector<CsvCell>>> next();

  std::size_t line() const { return row_line_; }  // of the row's first character, from 1

 private:
  Result<void> read_cell(CsvCell& cell);

  std::string_view rest_;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
};

}  // namespace kedge::exchange
