// The words and numbers in the files of /proc.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/file.h"

namespace kedge::monitor {

// Empty where there is no such file or nobody may read it.
inline std::string text_of(const Path& path) {
  return read_file(path).value_or(std::string());
}

inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) {
      words.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return words;
}

// The number at the beginning of the text.
template <typename T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

// The number behind "key:" or "key " at the beginning of a line.
inline std::optional<std::uint64_t> find_number(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, "\n")) {
    const auto words = split(line, ": \t");
    if (words.size() > 1 && words[0] == key) {
      return parse<std::uint64_t>(words[1]);
    }
  }
  return std::nullopt;
}

}  // namespace kedge::monitor
