#include "jobs/shell_text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace kedge::jobs {
namespace {

constexpr std::string_view kSafe = "%+,-./:=@_";

bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || kSafe.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

std::string quote_for_shell(std::string_view text) {
  if (is_plain(text)) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string join_for_shell(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + quote_for_shell(word);
  }
  return line;
}

std::string export_line(std::string_view name, std::string_view value) {
  return fmt::format("export {}={}\n", name, quote_for_shell(value));
}

}  // namespace kedge::jobs
