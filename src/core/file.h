// Files: whole reads, atomic durable writes, memory maps. Every error names the path and errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace kedge {

using Path = std::filesystem::path;

Error io_error(std::string_view what, const Path& path, int error_number);

Result<std::string> read_file(const Path& path);

// Readers see the old content or the new, never a part: written beside, synced, renamed, and the
// folder synced, because rename() alone is atomic but not durable.
Result<void> write_file_atomic(const Path& path, std::string_view content);

// The same for a writer of its own: `write` makes and syncs the file at the path it is given.
Result<void> replace_file(const Path& path,
                          const std::function<Result<void>(const Path& beside)>& write);

// Makes or empties the file, lets `write` fill it, and syncs it: for files that have no readers
// yet. Errors name `path_for_errors`, where that says more than a temporary name.
Result<void> write_synced(const Path& path, const Path& path_for_errors,
                          const std::function<Result<void>(int fd)>& write);

// The same for a secret: a file that only its owner can read, from its first byte on and whatever
// the umask is.
Result<void> write_private_file(const Path& path, std::string_view content);

Result<void> make_dirs(const Path& path);
// The folder, with those above it, and that nobody but its owner may enter it. Io when it is
// somebody else's.
Result<void> make_private_dir(const Path& path);
Result<void> sync_dir(const Path& path);
Result<std::uint64_t> size_of_file(const Path& path);

// A file descriptor that closes itself.
class OwnedFd {
 public:
  OwnedFd() = default;

  explicit OwnedFd(int fd) : fd_(fd) {}

  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}

  OwnedFd& operator=(OwnedFd&& other) noexcept;
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd();

  int get() const { return fd_; }

  int release();

 private:
  int fd_ = -1;
};

// Writes all of `bytes`, over short writes and EINTR.
Result<void> write_all(int fd, std::string_view bytes, const Path& path_for_errors);

// A read-only view of a whole file. Empty files map to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const Path& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kedge
