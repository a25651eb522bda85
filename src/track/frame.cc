#include "track/frame.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/result.h"
#include "track/event_log.h"
#include "track/internal/cbor.h"
#include "track/internal/little_endian.h"

namespace kedge::track {
namespace {

constexpr std::size_t kHeadBytes = 8;  // length u32 | crc32c u32

static_assert(std::endian::native == std::endian::little);

// RFC 8949, 3: the major type is in the upper three bits, the length of the argument in the rest.
constexpr unsigned kUnsigned = 0;
constexpr unsigned kNegative = 1;
constexpr unsigned kText = 3;
constexpr unsigned kMap = 5;
constexpr unsigned kOther = 7;

double half_to_double(std::uint64_t bits) {
  const auto exponent = static_cast<int>((bits >> 10U) & 31U);
  const auto fraction = static_cast<double>(bits & 1023U);
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                        : std::numeric_limits<double>::quiet_NaN())
                                       : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000U) != 0 ? -size : size;
}

// Reads items of definite length, one after the other; after a failure it stays failed.
class CborCursor {
 public:
  explicit CborCursor(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool has_failed() const { return has_failed_; }

  bool is_at_end() const { return at_ == end_; }

  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  std::string_view text() {
    const std::uint64_t length = argument(kText);
    if (length > static_cast<std::uint64_t>(end_ - at_)) {
      has_failed_ = true;
    }
    if (has_failed_) {
      return {};
    }
    const std::string_view text(at_, static_cast<std::size_t>(length));
    at_ += length;
    return text;
  }

  std::uint64_t map_size() { return argument(kMap); }

  std::int64_t integer() {
    const bool is_negative = at_ < end_ && major() == kNegative;
    const std::uint64_t value = argument(is_negative ? kNegative : kUnsigned);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      has_failed_ = true;
      return 0;
    }
    return is_negative ? -1 - static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  }

  // An integer or a float of any width.
  double number() {
    if (at_ == end_ || (major() != kUnsigned && major() != kNegative && major() != kOther)) {
      has_failed_ = true;
      return 0;
    }
    const unsigned kind = major();
    const unsigned info = static_cast<std::uint8_t>(*at_) & 31U;
    const std::uint64_t bits = argument(kind);
    if (kind == kUnsigned) {
      return static_cast<double>(bits);
    }
    if (kind == kNegative) {
      return -1 - static_cast<double>(bits);
    }
    switch (info) {
      case 25:
        return half_to_double(bits);
      case 26:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      case 27:
        return std::bit_cast<double>(bits);
      default:
        has_failed_ = true;  // true, false, null, ...
        return 0;
    }
  }

 private:
  unsigned major() const { return static_cast<std::uint8_t>(*at_) >> 5U; }

  std::uint64_t argument(unsigned wanted) {
    if (has_failed_ || at_ == end_ || major() != wanted) {
      has_failed_ = true;
      return 0;
    }
    const unsigned info = static_cast<std::uint8_t>(*at_) & 31U;
    ++at_;
    if (info < 24) {
      return info;
    }
    const std::size_t size = std::size_t{1} << (info - 24);
    if (info > 27 || size > static_cast<std::size_t>(end_ - at_)) {
      has_failed_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    if (size == sizeof value) {
      std::memcpy(&value, at_, sizeof value);
      value = __builtin_bswap64(value);
    } else {
      for (std::size_t i = 0; i < size; ++i) {
        value = (value << 8U) | static_cast<std::uint8_t>(at_[i]);
      }
    }
    at_ += size;
    return value;
  }

  const char* at_;
  const char* end_;
  bool has_failed_ = false;
};

// By way of JSON: slower, for bodies with other things among the numbers.
bool parse_scalars_slowly(std::string_view body, std::vector<ScalarView>& scalars) {
  const auto json = parse_cbor(as_bytes(body));
  if (!json || !json->is_object()) {
    return false;
  }
  // The JSON ends here: the views are into the body, where every key stands somewhere.
  for (const auto& [key, value] : json->items()) {
    const std::size_t at = body.find(key);
    if (value.is_number() && at != std::string_view::npos) {
      scalars.push_back({body.substr(at, key.size()), value.get<double>()});
    }
  }
  return true;
}

}  // namespace

Result<std::vector<std::string_view>> split_frames(std::string_view bytes) {
  std::vector<std::string_view> payloads;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t left = bytes.size() - at;
    const std::uint32_t length = left < kHeadBytes ? 0 : u32_at(bytes, at);
    if (length == 0 || length > kMaxRecordBytes || length > left - kHeadBytes) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("the frame at byte {} is damaged or cut short", at));
    }
    const std::string_view payload = bytes.substr(at + kHeadBytes, length);
    if (crc32c(as_bytes(payload), crc32c(as_bytes(bytes.substr(at, 4)))) != u32_at(bytes, at + 4)) {
      return fail(ErrorKind::Corrupt, fmt::format("the frame at byte {} is damaged", at));
    }
    payloads.push_back(payload);
    at += kHeadBytes + length;
  }
  return payloads;
}

std::optional<RecordView> parse_record(std::string_view payload) {
  CborCursor cursor(payload);
  RecordView record;
  record.payload = payload;
  bool is_right = cursor.map_size() == 5;
  is_right = is_right && cursor.text() == "type";
  record.type = cursor.text();
  is_right = is_right && cursor.text() == "seq";
  record.seq = static_cast<std::uint64_t>(cursor.integer());
  is_right = is_right && cursor.text() == "time";
  record.time_us = cursor.integer();
  is_right = is_right && cursor.text() == "step";
  record.step = cursor.integer();
  is_right = is_right && cursor.text() == "body";
  record.body = cursor.rest();
  return is_right && !cursor.has_failed() ? std::optional(record) : std::nullopt;
}

bool parse_scalars(std::string_view body, std::vector<ScalarView>& scalars) {
  const std::size_t before = scalars.size();
  CborCursor cursor(body);
  const std::uint64_t size = cursor.map_size();
  for (std::uint64_t i = 0; i < size && !cursor.has_failed(); ++i) {
    const std::string_view key = cursor.text();
    scalars.push_back({key, cursor.number()});
  }
  if (cursor.has_failed() || !cursor.is_at_end()) {
    scalars.resize(before);
    return parse_scalars_slowly(body, scalars);
  }
  return true;
}

std::optional<nlohmann::json> parse_body(std::string_view body) {
  return parse_cbor(as_bytes(body));
}

std::optional<ChainDigest> ChainDigest::parse(std::string_view text) {
  ChainDigest digest;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), digest.value_, 16);
  if (text.size() != 16 || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return digest;
}

void ChainDigest::add(std::string_view payload) {
  buffer_.assign(reinterpret_cast<const char*>(&value_), sizeof value_);
  buffer_ += payload;
  value_ = xxh3_64(as_bytes(buffer_));
}

std::string ChainDigest::text() const {
  return fmt::format("{:016x}", value_);
}

}  // namespace kedge::track
