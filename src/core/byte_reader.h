// Reads numbers out of bytes that nobody vouches for: what would go past the end is zero or empty
// and makes is_good() false, so that a reader asks once, before it believes anything. And appends
// them, the other way round.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kedge {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool is_good() const { return is_good_; }

  bool is_at_end() const { return rest_.empty(); }

  std::size_t left() const { return rest_.size(); }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      is_good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  // Little-endian.
  template <typename Number>
  Number fixed() {
    Number number{};
    const std::string_view bytes = take(sizeof(Number));
    if (!bytes.empty()) {
      std::memcpy(&number, bytes.data(), sizeof(Number));
    }
    return number;
  }

  // LEB128, at most ten bytes.
  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      number |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7FU) << shift : 0;
      if (byte < 0x80U) {
        return number;
      }
    }
    is_good_ = false;
    return 0;
  }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

inline void append_varint(std::string& out, std::uint64_t number) {
  while (number >= 0x80U) {
    out.push_back(static_cast<char>(number | 0x80U));
    number >>= 7U;
  }
  out.push_back(static_cast<char>(number));
}

template <typename Number>
void append_fixed(std::string& out, Number number) {
  char bytes[sizeof(Number)];
  std::memcpy(bytes, &number, sizeof(Number));
  out.append(bytes, sizeof(Number));
}

// Small numbers of either sign become small ones without a sign.
constexpr std::uint64_t zigzag(std::uint64_t number) {
  return (number << 1U) ^ (0 - (number >> 63U));
}

constexpr std::uint64_t unzigzag(std::uint64_t number) {
  return (number >> 1U) ^ (0 - (number & 1U));
}

}  // namespace kedge
