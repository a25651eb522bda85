#include "exchange/csv_reader.h"

#include <fmt/format.h>

namespace kedge::exchange {

CsvReader::CsvReader(std::string_view text) : rest_(text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  rest_.remove_prefix(rest_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

Result<void> CsvReader::read_cell(CsvCell& cell) {
  cell.is_quoted = rest_.starts_with('"');
  if (!cell.is_quoted) {
    const std::string_view text = rest_.substr(0, rest_.find_first_of(",\r\n"));
    cell.text = text;
    rest_.remove_prefix(text.size());
    return {};
  }
  rest_.remove_prefix(1);
  while (true) {
    const auto quote = rest_.find('"');
    if (quote == std::string_view::npos) {
      return fail(ErrorKind::Corrupt, fmt::format("CSV line {}: a quote is not closed", row_line_));
    }
    for (const char byte : rest_.substr(0, quote)) {
      cell.text += byte;
      line_ += byte == '\n' ? 1 : 0;
    }
    rest_.remove_prefix(quote + 1);
    if (!rest_.starts_with('"')) {
      break;
    }
    cell.text += '"';
    rest_.remove_prefix(1);
  }
  if (!rest_.empty() && rest_.find_first_of(",\r\n") != 0) {
    return fail(ErrorKind::Corrupt, fmt::format("CSV line {}: text behind a closing quote", line_));
  }
  return {};
}

Result<std::optional<std::vector<CsvCell>>> CsvReader::next() {
  while (rest_.starts_with('\n') || rest_.starts_with('\r')) {
    line_ += rest_[0] == '\n' ? 1 : 0;
    rest_.remove_prefix(1);
  }
  row_line_ = line_;
  if (rest_.empty()) {
    return std::nullopt;
  }
  std::vector<CsvCell> row;
  while (true) {
    KEDGE_TRY(read_cell(row.emplace_back()));
    if (!rest_.starts_with(',')) {
      return row;
    }
    rest_.remove_prefix(1);
  }
}

}  // namespace kedge::exchange
