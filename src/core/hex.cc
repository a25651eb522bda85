#include "core/hex.h"

#include <charconv>
#include <system_error>

namespace kedge {

std::string render_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<std::string> parse_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    const auto parsed = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + i + 2) {
      return std::nullopt;
    }
    bytes += static_cast<char>(value);
  }
  return text.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace kedge
