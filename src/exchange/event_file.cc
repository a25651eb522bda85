#include "exchange/event_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/hash.h"
#include "exchange/internal/event_message.h"
#include "exchange/internal/fixed_number.h"

namespace kedge::exchange {
namespace {

// A record is u64 length | u32 masked CRC-32C of it | bytes | u32 masked CRC-32C of them.
constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kTailBytes = 4;
constexpr std::size_t kGatherRecords = 1U << 16U;

std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kDelta = 0xA282EAD8U;
  const std::uint32_t crc = crc32c(as_bytes(bytes));
  return ((crc >> 15U) | (crc << 17U)) + kDelta;
}

template <typename Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(Number));
  return number;
}

}  // namespace

Result<EventFileReader> EventFileReader::open(const Path& path) {
  MappedFile file = KEDGE_TRY(MappedFile::open(path));
  const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
  EventFileReader reader({bytes, file.bytes().size()}, path.string());
  reader.file_ = std::move(file);
  return reader;
}

Error EventFileReader::damaged(std::string_view what) const {
  return {ErrorKind::Corrupt, fmt::format("{}: {} at byte {}", name_, what, offset_), ""};
}

Result<std::optional<std::string_view>> EventFileReader::next_record() {
  if (rest_.size() < kHeadBytes) {
    return std::nullopt;
  }
  const auto length = number_at<std::uint64_t>(rest_, 0);
  if (number_at<std::uint32_t>(rest_, 8) != masked_crc(rest_.substr(0, 8))) {
    return std::unexpected(damaged("no TensorBoard record"));
  }
  if (rest_.size() - kHeadBytes < kTailBytes || length > rest_.size() - kHeadBytes - kTailBytes) {
    return std::nullopt;
  }
  const std::string_view record = rest_.substr(kHeadBytes, length);
  if (number_at<std::uint32_t>(rest_, kHeadBytes + length) != masked_crc(record)) {
    return std::unexpected(damaged("a record whose checksum is wrong"));
  }
  rest_.remove_prefix(kHeadBytes + length + kTailBytes);
  offset_ += kHeadBytes + length + kTailBytes;
  return record;
}

Result<std::optional<Event>> EventFileReader::next() {
  while (const auto record = KEDGE_TRY(next_record())) {
    auto event = parse_event(*record, {plugin_of_tag_, skipped_});
    if (!event) {
      return std::unexpected(damaged("a record that is no event, before the one"));
    }
    if (!event->values.empty()) {
      return event;
    }
  }
  return std::nullopt;
}

bool is_event_file(const Path& path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

Result<EventFileWriter> EventFileWriter::create(const Path& folder, std::int64_t created_us) {
  KEDGE_TRY(make_dirs(folder));
  // TensorBoard reads the files of a folder in order of their names.
  const Path path =
      folder / fmt::format("events.out.tfevents.{:010}.kedge", created_us / 1'000'000);
  OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot write", path, errno));
  }
  EventFileWriter writer(path, std::move(fd));
  KEDGE_TRY(writer.append(render_version(created_us)));
  return writer;
}

Result<void> EventFileWriter::append(std::string_view record) {
  const std::size_t start = waiting_.size();
  append_fixed(waiting_, static_cast<std::uint64_t>(record.size()));
  append_fixed(waiting_, masked_crc(std::string_view(waiting_).substr(start)));
  waiting_ += record;
  append_fixed(waiting_, masked_crc(record));
  if (waiting_.size() < kGatherRecords) {
    return {};
  }
  const std::string bytes = std::exchange(waiting_, {});
  return write_all(fd_.get(), bytes, path_);
}

Result<void> EventFileWriter::add(const Event& event) {
  return append(render_event(event));
}

Result<void> EventFileWriter::finish() {
  KEDGE_TRY(write_all(fd_.get(), std::exchange(waiting_, {}), path_));
  if (::fsync(fd_.get()) != 0) {
    return std::unexpected(io_error("cannot sync", path_, errno));
  }
  return sync_dir(path_.parent_path());
}

}  // namespace kedge::exchange
