// Writes a zip file of stored entries whose bytes begin at multiples of 64, as torch.save does, so
// that they can be mapped. Sizes and offsets beyond 4 GiB are written in zip64 fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// CRC-32 as zip has it (IEEE 802.3).
std::uint32_t crc32(std::span<const std::uint8_t> bytes);

class ZipWriter {
 public:
  // Writes to `fd` from its beginning; `path` is for messages. Values from `zip64_from` on go to
  // zip64 fields; tests lower it.
  ZipWriter(int fd, Path path, std::uint64_t zip64_from = 0xFFFFFFFF)
      : fd_(fd), path_(std::move(path)), zip64_from_(zip64_from) {}

  Result<void> add(const std::string& name, std::span<const std::uint8_t> bytes);
  Result<void> add(const std::string& name, std::string_view text);
  Result<void> finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;
    std::uint32_t crc = 0;
  };

  std::string render_local(const Entry& entry) const;
  std::string render_central(const Entry& entry) const;
  std::string render_end(std::uint64_t directory_offset, std::uint64_t directory_bytes) const;
  Result<void> write(std::string_view bytes);

  int fd_;
  Path path_;
  std::uint64_t zip64_from_;
  std::uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace kedge::checkpoint
