#include "checkpoint/internal/zip_archive.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "checkpoint/internal/zip_format.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

// Sizes and signatures of PKWARE's APPNOTE.TXT 6.3.
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;

using Bytes8 = std::span<const std::uint8_t>;

// A part of the file, or nothing where the file ends before it.
std::optional<Bytes8> find_part(Bytes8 file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    return std::nullopt;
  }
  return file.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// Little-endian, from inside a part whose size was checked.
std::uint64_t number(Bytes8 part, std::size_t offset, std::size_t size) {
  KEDGE_CHECK(offset + size <= part.size(), "fields are read inside checked parts");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(part[offset + i]) << (8 * i);
  }
  return value;
}

std::unexpected<Error> corrupt_zip(const Path& path, std::string_view what) {
  return fail(ErrorKind::Corrupt,
              fmt::format("{} is not a whole torch file: {}", path.string(), what),
              "copy or download the file again");
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
};

std::optional<std::size_t> find_end(Bytes8 file) {
  if (file.size() < kEndBytes) {
    return std::nullopt;
  }
  const std::size_t last = file.size() - kEndBytes;
  const std::size_t lowest = last - std::min<std::size_t>(last, 0xFFFF);  // longest comment
  for (std::size_t at = last + 1; at-- > lowest;) {
    if (number(file, at, 4) == kEndSignature &&
        number(file, at + 20, 2) == file.size() - at - kEndBytes) {
      return at;
    }
  }
  return std::nullopt;
}

Result<Directory> find_directory(const Path& path, Bytes8 file) {
  const auto end = find_end(file);
  if (!end) {
    return corrupt_zip(path, "its zip directory is missing; the file is probably cut short");
  }
  Directory directory{.offset = number(file, *end + 16, 4),
                      .size = number(file, *end + 12, 4),
                      .entries = number(file, *end + 10, 2)};
  if (*end < kLocator64Bytes || number(file, *end - kLocator64Bytes, 4) != kLocator64Signature) {
    return directory;
  }
  const std::uint64_t end64_offset = number(file, *end - kLocator64Bytes + 8, 8);
  const auto end64 = find_part(file, end64_offset, kEnd64Bytes);
  if (!end64 || number(*end64, 0, 4) != kEnd64Signature) {
    return corrupt_zip(path, "its zip64 directory is missing");
  }
  return Directory{.offset = number(*end64, 48, 8),
                   .size = number(*end64, 40, 8),
                   .entries = number(*end64, 32, 8)};
}

struct ZipEntry {
  std::string name;
  std::uint64_t method = 0;
  std::uint64_t compressed = 0;
  std::uint64_t size = 0;
  std::uint64_t local_offset = 0;
};

// The zip64 field holds, in this order, only those values that did not fit above.
bool apply_zip64(Bytes8 extra, ZipEntry& entry) {
  std::size_t at = 0;
  while (extra.size() - at >= 4) {
    const std::uint64_t id = number(extra, at, 2);
    const std::uint64_t size = number(extra, at + 2, 2);
    const auto field = find_part(extra, at + 4, size);
    if (!field) {
      return false;
    }
    at += 4 + static_cast<std::size_t>(size);
    if (id != kZip64Extra) {
      continue;
    }
    std::size_t taken = 0;
    for (std::uint64_t* value : {&entry.size, &entry.compressed, &entry.local_offset}) {
      if (*value != kIn64) {
        continue;
      }
      if (field->size() - taken < 8) {
        return false;
      }
      *value = number(*field, taken, 8);
      taken += 8;
    }
  }
  return true;
}

Result<Bytes8> find_data(const Path& path, Bytes8 file, const ZipEntry& entry) {
  const auto local = find_part(file, entry.local_offset, kLocalBytes);
  if (!local || number(*local, 0, 4) != kLocalSignature) {
    return corrupt_zip(path, fmt::format("its record '{}' is missing", entry.name));
  }
  const std::uint64_t data_offset =
      entry.local_offset + kLocalBytes + number(*local, 26, 2) + number(*local, 28, 2);
  const auto data = find_part(file, data_offset, entry.size);
  if (!data) {
    return corrupt_zip(path, fmt::format("its record '{}' is cut short", entry.name));
  }
  return *data;
}

}  // namespace

Result<std::map<std::string, Bytes8>> read_zip(const Path& path, Bytes8 file) {
  const Directory directory = KEDGE_TRY(find_directory(path, file));
  const auto listing = find_part(file, directory.offset, directory.size);
  if (!listing) {
    return corrupt_zip(path, "its zip directory lies outside of the file");
  }
  std::map<std::string, Bytes8> entries;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const auto fixed = find_part(*listing, at, kCentralBytes);
    if (!fixed || number(*fixed, 0, 4) != kCentralSignature) {
      return corrupt_zip(path, fmt::format("entry {} of its zip directory is damaged", i));
    }
    const std::uint64_t name_size = number(*fixed, 28, 2);
    const std::uint64_t extra_size = number(*fixed, 30, 2);
    const auto name = find_part(*listing, at + kCentralBytes, name_size);
    const auto extra = find_part(*listing, at + kCentralBytes + name_size, extra_size);
    ZipEntry entry;
    entry.method = number(*fixed, 10, 2);
    entry.compressed = number(*fixed, 20, 4);
    entry.size = number(*fixed, 24, 4);
    entry.local_offset = number(*fixed, 42, 4);
    if (!name || !extra || !apply_zip64(*extra, entry)) {
      return corrupt_zip(path, fmt::format("entry {} of its zip directory is damaged", i));
    }
    entry.name.assign(name->begin(), name->end());
    if (entry.method == 0 && entry.compressed == entry.size) {
      entries[entry.name] = KEDGE_TRY(find_data(path, file, entry));
    }
    at += kCentralBytes + name_size + extra_size + number(*fixed, 32, 2);
  }
  return entries;
}

}  // namespace kedge::checkpoint
