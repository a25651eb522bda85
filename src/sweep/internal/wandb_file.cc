#include "sweep/internal/wandb_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/byte_reader.h"
#include "core/file.h"
#include "core/protobuf.h"

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

using Visit = std::function<void(const std::string&, double)>;

// Older clients write values as JSON, newer ones by their type.
std::optional<double> value_of(const ProtoField& field) {
  switch (field.number) {
    case kItemInteger:
      return static_cast<double>(static_cast<std::int64_t>(unzigzag(field.integer)));
    case kItemNumber:
      return field.as_double();
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
  ProtoField field;
  for (ProtoReader fields(bytes); fields.next(field);) {
    if (field.number == kItemKey || field.number == kItemNestedKey) {
      key += key.empty() ? "" : ".";
      key += field.bytes;
    } else if (const auto found = value_of(field)) {
      value = found;
    }
  }
  if (value && !key.starts_with('_')) {
    visit(key, *value);
  }
}

void read_record(std::string_view bytes, const Visit& visit) {
  ProtoField field;
  for (ProtoReader record(bytes); record.next(field);) {
    if (field.number != kRecordHistory) {
      continue;
    }
    ProtoField item;
    for (ProtoReader history(field.bytes); history.next(item);) {
      if (item.number == kHistoryItem) {
        read_item(item.bytes, visit);
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
