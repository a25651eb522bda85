#include "launch/line_splitter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::launch {
namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

// The bytes of the character at `at`; 0 when there is none.
std::size_t character_bytes(std::string_view bytes, std::size_t at) {
  const std::uint8_t first = byte_at(bytes, at);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t count = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || at + count > bytes.size()) {
    return 0;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  const std::uint8_t second = byte_at(bytes, at + 1);
  const std::uint8_t low = first == 0xE0 ? 0xA0 : (first == 0xF0 ? 0x90 : 0x80);
  const std::uint8_t high = first == 0xED ? 0x9F : (first == 0xF4 ? 0x8F : 0xBF);
  if (second < low || second > high) {
    return 0;
  }
  for (std::size_t i = 2; i < count; ++i) {
    if ((byte_at(bytes, at + i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  return count;
}

}  // namespace

std::string make_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t count = character_bytes(bytes, at);
    text += count == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(at, count);
    at += std::max<std::size_t>(count, 1);
  }
  return text;
}

void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (end > 0) {
      if (saw_return_) {
        line_.clear();
        saw_return_ = false;
      }
      const std::size_t taken = std::min(end, kMaxLineBytes - line_.size());
      line_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (line_.size() == kMaxLineBytes) {
        emit();
      }
      continue;
    }
    if (bytes.front() == '\n') {
      emit();
    } else {
      saw_return_ = true;
    }
    bytes.remove_prefix(1);
  }
}

void LineSplitter::finish() {
  if (!line_.empty()) {
    emit();
  }
}

void LineSplitter::emit() {
  on_line_(make_utf8(line_));
  line_.clear();
  saw_return_ = false;
}

}  // namespace kedge::launch
