// The event log of a run, events-<writer>.klog: a header, then framed, checksummed records, each a
// CBOR map. docs/formats/klog.md is the byte layout. One writer per file; any number of readers,
// also while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

struct EventLogHeader {
  std::string run;
  std::string writer;
  std::int64_t created_us = 0;  // Unix time
};

// Larger records are refused on both sides, so that a damaged length cannot ask for memory.
inline constexpr std::uint32_t kMaxRecordBytes = 64U << 20U;

inline constexpr std::size_t kFrameHeadBytes = 8;  // length u32 | crc32c u32

// Appends records. Bytes that a full disk refused stay in memory (up to a limit) and are tried
// again with the next flush, at the same place: a failed write never leaves damage behind.
class EventLogWriter {
 public:
  static Result<EventLogWriter> create(const Path& path, const EventLogHeader& header);

  // Frames a payload. False when it is too large or too much is waiting for a full disk.
  bool append(std::string_view payload);

  Result<void> flush();  // to the operating system
  Result<void> sync();   // to the disk

  std::uint64_t waiting_bytes() const { return waiting_.size(); }

 private:
  EventLogWriter(Path path, OwnedFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Path path_;
  OwnedFd fd_;
  std::uint64_t written_ = 0;
  std::string waiting_;
};

// Reads records in order. A torn tail (the last record incomplete, as after a crash or while its
// writer is busy) is the end; a bad record with good ones after it is Corrupt.
class EventLogReader {
 public:
  static Result<EventLogReader> open(const Path& path);

  const EventLogHeader& header() const { return header_; }

  // The next record, or nothing at the end. Asking again later sees what was appended meanwhile.
  Result<std::optional<nlohmann::json>> next();

  // The same as its bytes in the file: length, CRC and payload. Valid until the next call.
  Result<std::optional<std::string_view>> next_frame();

  // Goes on at a record whose first byte is known.
  void seek(std::uint64_t offset);

  std::uint64_t offset() const { return offset_; }  // of the first byte not yet returned

  std::uint64_t first_offset() const { return first_offset_; }  // of the record behind the header

 private:
  EventLogReader(Path path, OwnedFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Result<void> read_header();
  Result<bool> load(std::uint64_t count);
  Result<bool> find_record_after(std::uint64_t offset);
  Result<std::optional<std::string_view>> end_or_damage();

  Path path_;
  OwnedFd fd_;
  EventLogHeader header_;
  std::uint64_t offset_ = 0;
  std::uint64_t first_offset_ = 0;
  std::string buffer_;  // the file from buffer_offset_ on
  std::uint64_t buffer_offset_ = 0;
};

}  // namespace kedge::track
