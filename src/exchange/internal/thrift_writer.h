// Thrift's compact protocol, as much of it as Parquet's metadata needs, written only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_reader.h"

namespace kedge::exchange {

enum class ThriftType : std::uint8_t {
  True = 1,
  False = 2,
  I32 = 5,
  I64 = 6,
  Binary = 8,
  List = 9,
  Struct = 12
};

// Fields are written in order of their numbers. A struct is begun and ended; the outermost one is
// begun by the constructor.
class ThriftWriter {
 public:
  void integer(int field, std::int32_t value) {
    begin_field(field, ThriftType::I32);
    signed_varint(value);
  }

  void long_integer(int field, std::int64_t value) {
    begin_field(field, ThriftType::I64);
    signed_varint(value);
  }

  void boolean(int field, bool value) {
    begin_field(field, value ? ThriftType::True : ThriftType::False);
  }

  void text(int field, std::string_view value) {
    begin_field(field, ThriftType::Binary);
    element(value);
  }

  void begin_struct(int field) {
    begin_field(field, ThriftType::Struct);
    begin_element();
  }

  void begin_list(int field, ThriftType type, std::size_t count) {
    constexpr std::size_t kShort = 15;
    begin_field(field, ThriftType::List);
    const auto kind = static_cast<unsigned>(type);
    if (count < kShort) {
      byte(static_cast<unsigned>(count << 4U) | kind);
    } else {
      byte(0xF0U | kind);
      varint(count);
    }
  }

  // Of a list of structs.
  void begin_element() { last_fields_.push_back(0); }

  void end_struct() {
    last_fields_.pop_back();
    byte(0);
  }

  // Of a list of texts or integers.
  void element(std::string_view value) {
    varint(value.size());
    bytes_ += value;
  }

  void element(std::int32_t value) { signed_varint(value); }

  // Ends the outermost struct.
  std::string finish() {
    end_struct();
    return std::move(bytes_);
  }

 private:
  void signed_varint(std::int64_t value) { varint(zigzag(static_cast<std::uint64_t>(value))); }

  void byte(unsigned value) { bytes_ += static_cast<char>(value); }

  void varint(std::uint64_t value) { append_varint(bytes_, value); }

  void begin_field(int field, ThriftType type) {
    const int step = field - last_fields_.back();
    last_fields_.back() = field;
    constexpr int kLongestStep = 15;
    if (step >= 1 && step <= kLongestStep) {
      byte(static_cast<unsigned>(step) << 4U | static_cast<unsigned>(type));
    } else {
      byte(static_cast<unsigned>(type));
      signed_varint(field);
    }
  }

  std::string bytes_;
  std::vector<int> last_fields_ = {0};
};

}  // namespace kedge::exchange
