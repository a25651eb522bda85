#include "track/event_log.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/inside.h"
#include "core/result.h"
#include "track/internal/cbor.h"
#include "track/internal/little_endian.h"

namespace kedge::track {
namespace {

constexpr std::string_view kMagic = "KEDGELOG";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPrefixBytes = kMagic.size() + 4;

// While the disk refuses bytes, this many are kept; later ones are lost, and counted by the caller.
constexpr std::size_t kMaxWaiting = std::size_t{16} << 20U;

// Looking for good records behind a bad one gives up after this much work.
constexpr std::uint64_t kSearchBytes = std::uint64_t{256} << 20U;

void append_u32(std::string& out, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) {
    out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

// Over length and payload: a flipped bit in the length is found as well.
std::uint32_t frame_sum(std::uint32_t length, std::string_view payload) {
  std::string prefix;
  append_u32(prefix, length);
  return crc32c(as_bytes(payload), crc32c(as_bytes(prefix)));
}

void append_frame(std::string& out, std::string_view payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  append_u32(out, length);
  append_u32(out, frame_sum(length, payload));
  out += payload;
}

bool is_length(std::uint32_t length) {
  return length > 0 && length <= kMaxRecordBytes;
}

}  // namespace

Result<EventLogWriter> EventLogWriter::create(const Path& path, const EventLogHeader& header) {
  OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot create", path, errno));
  }
  EventLogWriter writer(path, std::move(fd));
  writer.waiting_ = kMagic;
  append_u32(writer.waiting_, kVersion);
  std::string payload;
  append_cbor_map(payload, 3);
  append_cbor_text(payload, "run");
  append_cbor_text(payload, header.run);
  append_cbor_text(payload, "writer");
  append_cbor_text(payload, header.writer);
  append_cbor_text(payload, "created");
  append_cbor_integer(payload, header.created_us);
  append_frame(writer.waiting_, payload);
  KEDGE_TRY(writer.sync());
  return writer;
}

bool EventLogWriter::append(std::string_view payload) {
  if (payload.size() > kMaxRecordBytes || waiting_.size() + payload.size() > kMaxWaiting) {
    // One record may exceed the limit alone; it must not be lost to an idle disk.
    if (payload.size() > kMaxRecordBytes || !waiting_.empty()) {
      return false;
    }
  }
  append_frame(waiting_, payload);
  return true;
}

Result<void> EventLogWriter::flush() {
  std::size_t done = 0;
  while (done < waiting_.size()) {
    const ssize_t count = ::pwrite(fd_.get(), waiting_.data() + done, waiting_.size() - done,
                                   static_cast<off_t>(written_ + done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      // What was written of the last record is a torn tail, overwritten by the next attempt.
      return std::unexpected(io_error("cannot write", path_, count == 0 ? ENOSPC : errno));
    }
    done += static_cast<std::size_t>(count);
  }
  written_ += done;
  waiting_.clear();
  return {};
}

Result<void> EventLogWriter::sync() {
  KEDGE_TRY(flush());
  if (::fdatasync(fd_.get()) != 0) {
    return std::unexpected(io_error("cannot sync", path_, errno));
  }
  return {};
}

Result<EventLogReader> EventLogReader::open(const Path& path) {
  OwnedFd fd = KEDGE_TRY(open_inside(path.parent_path(), path.filename()));
  EventLogReader reader(path, std::move(fd));
  KEDGE_TRY(reader.read_header());
  return reader;
}

// Whether `count` bytes from offset_ on are in the buffer after reading what it takes.
Result<bool> EventLogReader::load(std::uint64_t count) {
  constexpr std::size_t kReadBytes = std::size_t{1} << 18U;
  if (offset_ - buffer_offset_ > kReadBytes) {
    buffer_.erase(0, static_cast<std::size_t>(offset_ - buffer_offset_));
    buffer_offset_ = offset_;
  }
  while (buffer_offset_ + buffer_.size() < offset_ + count) {
    const std::size_t old_size = buffer_.size();
    buffer_.resize(old_size + kReadBytes);
    const ssize_t got = ::pread(fd_.get(), buffer_.data() + old_size, kReadBytes,
                                static_cast<off_t>(buffer_offset_ + old_size));
    const int error = errno;
    buffer_.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error != EINTR) {
      return std::unexpected(io_error("cannot read", path_, error));
    }
    if (got == 0) {
      return false;
    }
  }
  return true;
}

Result<void> EventLogReader::read_header() {
  const auto corrupt = [&](std::string_view what) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} is not an event log of kedge: {}", path_.string(), what));
  };
  if (!KEDGE_TRY(load(kPrefixBytes + kFrameHeadBytes))) {
    return corrupt("it ends inside its header");
  }
  if (!buffer_.starts_with(kMagic)) {
    return corrupt("it begins with other bytes");
  }
  if (const std::uint32_t version = u32_at(buffer_, kMagic.size()); version != kVersion) {
    return corrupt(fmt::format("its version is {}, this kedge reads {}", version, kVersion));
  }
  offset_ = kPrefixBytes;
  const auto record = KEDGE_TRY(next());
  if (!record || !record->is_object()) {
    return corrupt("its header is damaged");
  }
  const auto run = record->find("run");
  const auto writer = record->find("writer");
  const auto created = record->find("created");
  if (run == record->end() || !run->is_string() || writer == record->end() ||
      !writer->is_string() || created == record->end() || !created->is_number_integer()) {
    return corrupt("its header lacks run, writer or created");
  }
  first_offset_ = offset_;
  header_ = {run->get<std::string>(), writer->get<std::string>(), created->get<std::int64_t>()};
  return {};
}

void EventLogReader::seek(std::uint64_t offset) {
  offset_ = offset;
  buffer_.clear();
  buffer_offset_ = offset;
}

Result<std::optional<nlohmann::json>> EventLogReader::next() {
  const std::uint64_t begin = offset_;
  const auto frame = KEDGE_TRY(next_frame());
  if (!frame) {
    return std::nullopt;
  }
  auto record = parse_cbor(as_bytes(frame->substr(kFrameHeadBytes)));
  if (!record) {
    offset_ = begin;
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: the record at byte {} is not CBOR", path_.string(), begin));
  }
  return record;
}

Result<std::optional<std::string_view>> EventLogReader::next_frame() {
  if (!KEDGE_TRY(load(kFrameHeadBytes))) {
    buffer_.resize(static_cast<std::size_t>(offset_ - buffer_offset_));  // it may change
    return std::nullopt;
  }
  std::size_t at = static_cast<std::size_t>(offset_ - buffer_offset_);
  const std::uint32_t length = u32_at(buffer_, at);
  const std::uint32_t sum = u32_at(buffer_, at + 4);
  if (!is_length(length) || !KEDGE_TRY(load(kFrameHeadBytes + length))) {
    return end_or_damage();
  }
  at = static_cast<std::size_t>(offset_ - buffer_offset_);
  const auto frame = std::string_view(buffer_).substr(at, kFrameHeadBytes + length);
  if (frame_sum(length, frame.substr(kFrameHeadBytes)) != sum) {
    return end_or_damage();
  }
  offset_ += frame.size();
  return frame;
}

// A bad record is the torn tail, unless a good one follows it.
Result<std::optional<std::string_view>> EventLogReader::end_or_damage() {
  const bool is_damage = KEDGE_TRY(find_record_after(offset_ + 1));
  if (is_damage) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: the record at byte {} is damaged", path_.string(), offset_),
                "records after it may be whole; copy the file from where it came from again");
  }
  buffer_.resize(static_cast<std::size_t>(offset_ - buffer_offset_));  // it may change
  return std::nullopt;
}

Result<bool> EventLogReader::find_record_after(std::uint64_t offset) {
  KEDGE_TRY(load(2ULL * kMaxRecordBytes));  // or to the end of the file
  const std::string_view bytes(buffer_);
  std::uint64_t work = 0;
  for (auto at = static_cast<std::size_t>(offset - buffer_offset_);
       at + kFrameHeadBytes < bytes.size() && work < kSearchBytes; ++at) {
    const std::uint32_t length = u32_at(bytes, at);
    const auto first = static_cast<std::uint8_t>(bytes[at + kFrameHeadBytes]);
    const bool is_map = first >= 0xA0 && first <= 0xBF;
    if (!is_map || !is_length(length) || length > bytes.size() - at - kFrameHeadBytes) {
      continue;
    }
    work += length;
    if (frame_sum(length, bytes.substr(at + kFrameHeadBytes, length)) == u32_at(bytes, at + 4)) {
      return true;
    }
  }
  return false;
}

}  // namespace kedge::track
