// Protocol buffers without a schema: fields one after the other, for messages that nobody vouches
// for, and the other way round.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_reader.h"

namespace kedge {

struct ProtoField {
  std::uint32_t number = 0;
  std::uint64_t integer = 0;    // a varint, or the bits of a fixed number
  std::string_view bytes = {};  // of a text, a message or packed numbers
  unsigned wire = 0;

  double as_double() const { return std::bit_cast<double>(integer); }

  float as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(integer)); }
};

class ProtoReader {
 public:
  static constexpr unsigned kVarint = 0;
  static constexpr unsigned kFixed64 = 1;
  static constexpr unsigned kBytes = 2;
  static constexpr unsigned kFixed32 = 5;

  explicit ProtoReader(std::string_view message) : reader_(message) {}

  // False at the end and at the first thing that is no field; is_good() tells which.
  bool next(ProtoField& field) {
    if (reader_.is_at_end() || !is_good()) {
      return false;
    }
    const std::uint64_t key = varint();
    field = {.number = static_cast<std::uint32_t>(key >> 3U),
             .wire = static_cast<unsigned>(key & 7U)};
    switch (field.wire) {
      case kVarint:
        field.integer = varint();
        break;
      case kFixed64:
        field.integer = reader_.fixed<std::uint64_t>();
        break;
      case kBytes:
        field.bytes = reader_.take(varint());
        break;
      case kFixed32:
        field.integer = reader_.fixed<std::uint32_t>();
        break;
      default:  // groups are of another age
        is_known_ = false;
    }
    return is_good();
  }

  bool is_good() const { return is_known_ && reader_.is_good(); }

  bool is_at_end() const { return reader_.is_at_end(); }

  // Of packed numbers, which have no keys.
  std::uint64_t varint() { return reader_.varint(); }

  template <typename Number>
  Number fixed() {
    return reader_.fixed<Number>();
  }

 private:
  ByteReader reader_;
  bool is_known_ = true;
};

class ProtoWriter {
 public:
  void integer(std::uint32_t field, std::uint64_t value) {
    key(field, ProtoReader::kVarint);
    append_varint(message_, value);
  }

  void number(std::uint32_t field, double value) {
    key(field, ProtoReader::kFixed64);
    append_fixed(message_, value);
  }

  void single(std::uint32_t field, float value) {
    key(field, ProtoReader::kFixed32);
    append_fixed(message_, value);
  }

  void bytes(std::uint32_t field, std::string_view value) {
    key(field, ProtoReader::kBytes);
    append_varint(message_, value.size());
    message_ += value;
  }

  void packed(std::uint32_t field, const std::vector<double>& values) {
    key(field, ProtoReader::kBytes);
    append_varint(message_, values.size() * sizeof(double));
    for (const double value : values) {
      append_fixed(message_, value);
    }
  }

  // The fields of another message after these.
  void append(std::string_view message) { message_ += message; }

  const std::string& message() const { return message_; }

 private:
  void key(std::uint32_t field, unsigned wire) { append_varint(message_, field << 3U | wire); }

  std::string message_;
};

}  // namespace kedge
