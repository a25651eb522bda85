// UTF-8, for texts that come from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kedge {

// Takes the first character off `text`, which must not be empty. A byte that begins no character is
// one of its own, U+FFFD.
inline char32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  std::size_t length = 1;
  char32_t character = 0xFFFD;
  if (lead < 0x80) {
    character = lead;
  } else if (lead >= 0xC2 && lead < 0xF5) {
    const std::size_t wanted = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t sum = lead & (0x7FU >> wanted);
    std::size_t i = 1;
    for (; i < wanted && i < text.size() && (byte(i) & 0xC0U) == 0x80U; ++i) {
      sum = (sum << 6U) | (byte(i) & 0x3FU);
    }
    const bool is_too_long = (wanted == 3 && sum < 0x800) || (wanted == 4 && sum < 0x10000);
    const bool is_surrogate = sum >= 0xD800 && sum < 0xE000;
    if (i == wanted && !is_too_long && !is_surrogate && sum <= 0x10FFFF) {
      character = sum;
      length = wanted;
    }
  }
  text.remove_prefix(length);
  return character;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::string_view before = text;
    const bool is_single = static_cast<std::uint8_t>(before[0]) >= 0x80;
    take_character(text);
    if (is_single && before.size() - text.size() == 1) {
      return false;
    }
  }
  return true;
}

// The text with U+FFFD for each byte that is part of no character, for formats that allow only
// UTF-8.
inline std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) {
    return std::string(text);
  }
  std::string clean;
  while (!text.empty()) {
    const std::string_view before = text;
    take_character(text);
    const std::string_view taken = before.substr(0, before.size() - text.size());
    const bool is_bad = taken.size() == 1 && static_cast<std::uint8_t>(taken[0]) >= 0x80;
    clean += is_bad ? "\xEF\xBF\xBD" : taken;
  }
  return clean;
}

inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) {
    count += (static_cast<std::uint8_t>(byte) & 0xC0U) != 0x80U ? 1 : 0;
  }
  return count;
}

}  // namespace kedge
