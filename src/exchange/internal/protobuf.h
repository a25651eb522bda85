// Protocol buffers without a schema: fields one after the other, for messages that nobody vouches
// for, and the other way round.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::exchange {

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

  explicit ProtoReader(std::string_view message) : rest_(message) {}

  // False at the end and at the first thing that is no field; is_good() tells which.
  bool next(ProtoField& field) {
    if (rest_.empty() || !is_good_) {
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
        field.integer = fixed(8);
        break;
      case kBytes:
        field.bytes = take(varint());
        break;
      case kFixed32:
        field.integer = fixed(4);
        break;
      default:  // groups are of another age
        is_good_ = false;
    }
    return is_good_;
  }

  bool is_good() const { return is_good_; }

  bool is_at_end() const { return rest_.empty(); }

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      number |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7FU) << shift : 0;
      if (byte < 0x80U) {
        return number;
      }
    }
    is_good_ = false;
    return 0;
  }

  std::uint64_t fixed(std::size_t size) {
    std::uint64_t number = 0;
    const std::string_view bytes = take(size);
    if (!bytes.empty()) {
      std::memcpy(&number, bytes.data(), bytes.size());
    }
    return number;
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      is_good_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

class ProtoWriter {
 public:
  void integer(std::uint32_t field, std::uint64_t value) {
    key(field, ProtoReader::kVarint);
    varint(value);
  }

  void number(std::uint32_t field, double value) {
    key(field, ProtoReader::kFixed64);
    fixed(value);
  }

  void single(std::uint32_t field, float value) {
    key(field, ProtoReader::kFixed32);
    fixed(value);
  }

  void bytes(std::uint32_t field, std::string_view value) {
    key(field, ProtoReader::kBytes);
    varint(value.size());
    bytes_ += value;
  }

  void packed(std::uint32_t field, const std::vector<double>& values) {
    key(field, ProtoReader::kBytes);
    varint(values.size() * sizeof(double));
    for (const double value : values) {
      fixed(value);
    }
  }

  const std::string& message() const { return bytes_; }

 private:
  void key(std::uint32_t field, unsigned wire) { varint(field << 3U | wire); }

  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) {
      bytes_ += static_cast<char>(value | 0x80U);
    }
    bytes_ += static_cast<char>(value);
  }

  template <typename Number>
  void fixed(Number value) {
    char raw[sizeof(Number)];
    std::memcpy(raw, &value, sizeof(Number));
    bytes_.append(raw, sizeof(Number));
  }

  std::string bytes_;
};

}  // namespace kedge::exchange
