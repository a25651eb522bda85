#include "data/tokenizer/internal/byte_letters.h"

#include <array>
#include <cstdint>

#include "core/utf8.h"

namespace kedge::data {
namespace {

constexpr std::size_t kLetters = 0x100 + 68;

std::array<int, kLetters> make_table() {
  std::array<int, kLetters> byte_of{};
  byte_of.fill(-1);
  std::size_t moved = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    byte_of[is_itself ? static_cast<std::size_t>(byte) : moved++] = byte;
  }
  return byte_of;
}

}  // namespace

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  static const std::array<int, kLetters> byte_of = make_table();
  std::string bytes;
  while (!letters.empty()) {
    const char32_t letter = take_character(letters);
    if (letter >= kLetters || byte_of[letter] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte_of[letter]);
  }
  return bytes;
}

}  // namespace kedge::data
