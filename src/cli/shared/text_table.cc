#include "cli/shared/text_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/terminal.h"
#include "core/utf8.h"

namespace kedge::cli {

std::string render_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<std::size_t> widths;
  for (auto& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], count_characters(row[i]));
    }
  }
  std::string text;
  for (const auto& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - count_characters(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace kedge::cli
