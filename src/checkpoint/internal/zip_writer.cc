#include "checkpoint/internal/zip_writer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint/internal/zip_format.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint16_t kPaddingExtra = 0x4246;  // "FB", torch's own

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the CRC of byte b followed by k zero bytes, so that 8 bytes are taken at a time.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

void put(std::string& text, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

}  // namespace

std::uint32_t crc32(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      next ^= kTables[7 - k][bytes[at + k] ^ ((crc >> (8 * k)) & 0xFFU)];
      next ^= kTables[3 - k][bytes[at + 4 + k]];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) {
    crc = (crc >> 8U) ^ kTables[0][(crc ^ bytes[at]) & 0xFFU];
  }
  return ~crc;
}

Result<void> ZipWriter::write(std::string_view bytes) {
  KEDGE_TRY(write_all(fd_, bytes, path_));
  position_ += bytes.size();
  return {};
}

std::string ZipWriter::render_local(const Entry& entry) const {
  const bool is_64 = entry.bytes >= zip64_from_;
  std::string extra;
  if (is_64) {
    put(extra, kZip64Extra, 2);
    put(extra, 16, 2);
    put(extra, entry.bytes, 8);
    put(extra, entry.bytes, 8);
  }
  const std::uint64_t unpadded = entry.offset + kLocalBytes + entry.name.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  put(extra, kPaddingExtra, 2);
  put(extra, padding, 2);
  extra.append(static_cast<std::size_t>(padding), 'Z');

  std::string text;
  put(text, 0x04034b50, 4);
  put(text, is_64 ? 45 : 0, 2);  // version needed
  put(text, 0, 2);               // flags
  put(text, 0, 2);               // stored
  put(text, 0, 4);               // no time and date: equal tensors make equal files
  put(text, entry.crc, 4);
  put(text, is_64 ? kIn64 : entry.bytes, 4);
  put(text, is_64 ? kIn64 : entry.bytes, 4);
  put(text, entry.name.size(), 2);
  put(text, extra.size(), 2);
  return text + entry.name + extra;
}

std::string ZipWriter::render_central(const Entry& entry) const {
  const bool is_large = entry.bytes >= zip64_from_;
  const bool is_far = entry.offset >= zip64_from_;
  std::string extra;
  if (is_large || is_far) {
    put(extra, kZip64Extra, 2);
    put(extra, (is_large ? 16U : 0U) + (is_far ? 8U : 0U), 2);
    if (is_large) {
      put(extra, entry.bytes, 8);
      put(extra, entry.bytes, 8);
    }
    if (is_far) {
      put(extra, entry.offset, 8);
    }
  }
  std::string text;
  put(text, 0x02014b50, 4);
  put(text, 0, 2);                       // version made by
  put(text, extra.empty() ? 0 : 45, 2);  // version needed
  put(text, 0, 2);                       // flags
  put(text, 0, 2);                       // stored
  put(text, 0, 4);                       // time and date
  put(text, entry.crc, 4);
  put(text, is_large ? kIn64 : entry.bytes, 4);
  put(text, is_large ? kIn64 : entry.bytes, 4);
  put(text, entry.name.size(), 2);
  put(text, extra.size(), 2);
  put(text, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
  put(text, is_far ? kIn64 : entry.offset, 4);
  return text + entry.name + extra;
}

std::string ZipWriter::render_end(std::uint64_t directory_offset,
                                  std::uint64_t directory_bytes) const {
  const std::uint64_t count = entries_.size();
  const bool is_64 = directory_offset >= zip64_from_ || count >= 0xFFFF;
  std::string text;
  if (is_64) {
    put(text, 0x06064b50, 4);
    put(text, 44, 8);  // bytes of this record after this field
    put(text, 45, 2);
    put(text, 45, 2);
    put(text, 0, 4 + 4);
    put(text, count, 8);
    put(text, count, 8);
    put(text, directory_bytes, 8);
    put(text, directory_offset, 8);
    put(text, 0x07064b50, 4);
    put(text, 0, 4);
    put(text, directory_offset + directory_bytes, 8);
    put(text, 1, 4);
  }
  put(text, 0x06054b50, 4);
  put(text, 0, 2 + 2);
  put(text, is_64 ? 0xFFFF : count, 2);
  put(text, is_64 ? 0xFFFF : count, 2);
  put(text, is_64 ? kIn64 : directory_bytes, 4);
  put(text, is_64 ? kIn64 : directory_offset, 4);
  put(text, 0, 2);
  return text;
}

Result<void> ZipWriter::add(const std::string& name, std::span<const std::uint8_t> bytes) {
  Entry entry{.name = name, .bytes = bytes.size(), .offset = position_, .crc = crc32(bytes)};
  KEDGE_TRY(write(render_local(entry)));
  KEDGE_TRY(write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  entries_.push_back(std::move(entry));
  return {};
}

Result<void> ZipWriter::add(const std::string& name, std::string_view text) {
  return add(name, as_bytes(text));
}

Result<void> ZipWriter::finish() {
  const std::uint64_t directory_offset = position_;
  for (const Entry& entry : entries_) {
    KEDGE_TRY(write(render_central(entry)));
  }
  return write(render_end(directory_offset, position_ - directory_offset));
}

}  // namespace kedge::checkpoint
