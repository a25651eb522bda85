// Just enough of the protobuf wire format to write messages: varint, 32-bit and length-delimited
// fields. https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::nn {

class OnnxMessage {
 public:
  OnnxMessage& integer(std::uint32_t field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }

  OnnxMessage& real(std::uint32_t field, float value) {
    key(field, 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes_.push_back(static_cast<char>(bits >> shift));
    }
    return *this;
  }

  OnnxMessage& text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }

  OnnxMessage& message(std::uint32_t field, const OnnxMessage& value) {
    return text(field, value.bytes_);
  }

  // The fields of `other` after these.
  OnnxMessage& append(const OnnxMessage& other) {
    bytes_.append(other.bytes_);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void key(std::uint32_t field, std::uint32_t wire_type) { varint(field << 3U | wire_type); }

  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80U));
      value >>= 7U;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace kedge::nn
