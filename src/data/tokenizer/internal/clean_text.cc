#include "data/tokenizer/internal/clean_text.h"

#include <cstdint>
#include <cstring>

namespace kedge::data {
namespace {

// The length of the character at the beginning; 0 when there is none, and then `bad` is how many
// bytes one U+FFFD stands for.
std::size_t length_of(std::string_view text, std::size_t& bad) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  bad = 1;
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4) {
    return 0;
  }
  const std::size_t wanted = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte is restricted where a shorter form, a surrogate or too much would be written.
  const std::uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < wanted; ++i) {
    const bool is_there =
        i < text.size() && byte(i) >= (i == 1 ? least : 0x80) && byte(i) <= (i == 1 ? most : 0xBF);
    if (!is_there) {
      bad = i;
      return 0;
    }
  }
  return wanted;
}

}  // namespace

std::size_t find_invalid(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = kHighBits;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
    }
    if ((eight & kHighBits) == 0) {
      at += sizeof eight;
      continue;
    }
    std::size_t bad = 0;
    const std::size_t length = length_of(text.substr(at, 4), bad);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return at;
}

std::size_t replace_invalid(std::string_view text, std::string& clean) {
  std::size_t replaced = 0;
  clean.clear();
  while (!text.empty()) {
    const std::size_t valid = find_invalid(text);
    clean += text.substr(0, valid);
    text.remove_prefix(valid);
    if (!text.empty()) {
      std::size_t bad = 0;
      length_of(text.substr(0, 4), bad);
      clean += "\uFFFD";
      text.remove_prefix(bad);
      ++replaced;
    }
  }
  return replaced;
}

}  // namespace kedge::data
