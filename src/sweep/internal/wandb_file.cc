#include "sweep/internal/wandb_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/file.h"

namespace kedge::sweep {
namespace {

// 7 bytes of header, then blocks of 32 KiB (the header counts to the first), each of chunks:
// crc u32 | length u16 | type u8 | bytes. A record is one chunk (type 1), or a first (2), middles
// (3) and a last (4). A block's last bytes that hold no chunk header are zeros.
constexpr std::size_t kFileHeader = 7;
constexpr std::size_t kBlock = 32768;
constexpr std::size_t kChunkHeader = 7;

constexpr std::uint64_t kRecordHistory = 2;
constexpr std::uint64_t kHistoryItem = 1;
constexpr std::uint64_t kItemKey = 1;
constexpr std::uint64_t kItemNestedKey = 2;
constexpr std::uint64_t kItemInteger = 5;
constexpr std::uint64_t kItemNumber = 6;
constexpr std::uint64_t kItemJson = 16;

// Protobuf's fields, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;      // of varints and fixed numbers
    std::string_view bytes = {};  // of everything else
  };

  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag) {
      return std::nullopt;
    }
    Field field{.number = *tag >> 3U};
    switch (*tag & 7U) {
      case 0: {
        const auto value = varint();
        field.value = value.value_or(0);
        return value ? std::optional(field) : std::nullopt;
      }
      case 1:
        field.value = fixed(8);
        return field;
      case 5:
        field.value = fixed(4);
        return field;
      case 2: {
        const auto size = varint();
        if (!size || *size > rest_.size()) {
          return std::nullopt;
        }
        field.bytes = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return field;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) {
        return value;
      }
    }
    return std::nullopt;
  }

  // Little-endian.
  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min(size, rest_.size()); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(std::min(size, rest_.size()));
    return value;
  }

  std::string_view rest_;
};

using Visit = std::function<void(const std::string&, double)>;

// Older clients write values as JSON, newer ones by their type.
std::optional<double> value_of(const Fields::Field& field) {
  switch (field.number) {
    case kItemInteger:  // zigzag: 0, -1, 1, -2, ...
      return static_cast<double>(static_cast<std::int64_t>(field.value >> 1U) ^
                                 -static_cast<std::int64_t>(field.value & 1U));
    case kItemNumber:
      return std::bit_cast<double>(field.value);
    case kItemJson: {
      const auto json = nlohmann::json::parse(field.bytes, nullptr, false);
      return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void read_item(std::string_view bytes, const Visit& visit) {
  std::string key;
  std::optional<double> value;
  Fields fields(bytes);
  while (const auto field = fields.next()) {
    if (field->number == kItemKey || field->number == kItemNestedKey) {
      key += key.empty() ? "" : ".";
      key += field->bytes;
    } else if (const auto found = value_of(*field)) {
      value = found;
    }
  }
  if (value && !key.starts_with('_')) {
    visit(key, *value);
  }
}

void read_record(std::string_view bytes, const Visit& visit) {
  Fields record(bytes);
  while (const auto field = record.next()) {
    if (field->number != kRecordHistory) {
      continue;
    }
    Fields history(field->bytes);
    while (const auto item = history.next()) {
      if (item->number == kHistoryItem) {
        read_item(item->bytes, visit);
      }
    }
  }
}

}  // namespace

void read_wandb_history(const Path& file, const Visit& visit) {
  const std::string text = read_file(file).value_or("");
  if (!text.starts_with(":W&B")) {
    return;
  }
  std::string record;
  std::size_t at = kFileHeader;
  while (at + kChunkHeader <= text.size()) {
    if (kBlock - at % kBlock < kChunkHeader) {
      at += kBlock - at % kBlock;
      continue;
    }
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const std::size_t length = byte(4) | static_cast<std::size_t>(byte(5)) << 8U;
    const unsigned type = byte(6);
    if (type < 1 || type > 4 || at + kChunkHeader + length > text.size()) {
      return;
    }
    if (type == 1 || type == 2) {
      record.clear();
    }
    record.append(text, at + kChunkHeader, length);
    if (type == 1 || type == 4) {
      read_record(record, visit);
    }
    at += kChunkHeader + length;
  }
}

}  // namespace kedge::sweep
