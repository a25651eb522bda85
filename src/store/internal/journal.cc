#include "store/internal/journal.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/chunk.h"

namespace kedge::store {
namespace {

constexpr char kWithoutHeartbeat = 1;
constexpr char kJournalVersion = 2;

// Three numbers of at most ten bytes and a value of eight.
constexpr std::size_t kMaxPointBytes = 28;

char* put_number(char* at, std::uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80U);
    value >>= 7U;
  }
  *at++ = static_cast<char>(value);
  return at;
}

// Differences wrap around, so that every int64 has one.
std::uint64_t zigzag_from(std::int64_t value, std::int64_t before) {
  const std::uint64_t delta =
      static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before);
  return (delta << 1U) ^ (0 - (delta >> 63U));
}

std::int64_t undo_zigzag_from(std::uint64_t coded, std::int64_t before) {
  const std::uint64_t delta = (coded >> 1U) ^ (0 - (coded & 1U));
  return static_cast<std::int64_t>(delta + static_cast<std::uint64_t>(before));
}

class JournalReader {
 public:
  explicit JournalReader(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return at_ == bytes_.size(); }

  std::size_t left() const { return bytes_.size() - at_; }

  bool has_failed() const { return has_failed_; }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    has_failed_ = true;
    return 0;
  }

  double value() {
    if (left() < sizeof(double)) {
      has_failed_ = true;
      return 0;
    }
    double value = 0;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool has_failed_ = false;
};

}  // namespace

static_assert(std::endian::native == std::endian::little);

void begin_journal(std::string& out, std::int64_t heartbeat_us) {
  out.assign(11, kJournalVersion);
  const char* end = put_number(out.data() + 1, static_cast<std::uint64_t>(heartbeat_us));
  out.resize(static_cast<std::size_t>(end - out.data()));
}

void append_journal(std::string& out, std::int64_t series_row, const Points& points) {
  const std::size_t begin = out.size();
  out.resize(begin + 20 + points.size() * kMaxPointBytes);
  char* at = put_number(out.data() + begin, static_cast<std::uint64_t>(series_row));
  at = put_number(at, points.size());
  std::int64_t step = 0;
  std::int64_t time_us = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    at = put_number(at, zigzag_from(points.steps[i], step));
    at = put_number(at, zigzag_from(points.times_us[i], time_us));
    std::memcpy(at, &points.values[i], sizeof(double));
    at += sizeof(double);
    step = points.steps[i];
    time_us = points.times_us[i];
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
}

Result<std::int64_t> read_journal(
    std::string_view bytes,
    const std::function<Result<void>(std::int64_t series_row, const Points& points)>& visit) {
  const auto corrupt = [] {
    return fail(ErrorKind::Corrupt, "a row of the store's journal is damaged");
  };
  if (bytes.empty() || (bytes.front() != kJournalVersion && bytes.front() != kWithoutHeartbeat)) {
    return corrupt();
  }
  JournalReader reader(bytes.substr(1));
  const auto heartbeat_us =
      bytes.front() == kJournalVersion ? static_cast<std::int64_t>(reader.number()) : 0;
  Points points;
  while (!reader.is_at_end()) {
    const auto row = static_cast<std::int64_t>(reader.number());
    const std::uint64_t count = reader.number();
    if (reader.has_failed() || count > reader.left()) {
      return corrupt();
    }
    points.clear();
    Point point;
    for (std::uint64_t i = 0; i < count && !reader.has_failed(); ++i) {
      point.step = undo_zigzag_from(reader.number(), point.step);
      point.time_us = undo_zigzag_from(reader.number(), point.time_us);
      point.value = reader.value();
      points.add(point);
    }
    if (reader.has_failed()) {
      return corrupt();
    }
    KEDGE_TRY(visit(row, points));
  }
  if (reader.has_failed()) {
    return corrupt();
  }
  return heartbeat_us;
}

}  // namespace kedge::store
