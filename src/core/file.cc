#include "core/file.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kedge {
namespace {

std::string hint_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space (or raise the quota) and run the same command again";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder you may write to, or change its permissions";
    default:
      return {};
  }
}

}  // namespace

Error io_error(std::string_view what, const Path& path, int error_number) {
  const ErrorKind kind = error_number == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
  return {kind, fmt::format("{} {}: {}", what, path.string(), std::strerror(error_number)),
          hint_for(error_number)};
}

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    OwnedFd old(std::exchange(fd_, other.release()));
  }
  return *this;
}

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

int OwnedFd::release() {
  return std::exchange(fd_, -1);
}

Result<void> write_all(int fd, std::string_view bytes, const Path& path_for_errors) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return std::unexpected(io_error("cannot write", path_for_errors, errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> read_file(const Path& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot read", path, errno));
  }
  std::string content;
  char buffer[1U << 16U];
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return std::unexpected(io_error("cannot read", path, errno));
    }
    if (count == 0) {
      return content;
    }
    content.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<void> replace_file(const Path& path,
                          const std::function<Result<void>(const Path& beside)>& write) {
  // Renaming over /dev/full would leave the machine without it.
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return fail(ErrorKind::Io, fmt::format("cannot write {}: not a file", path.string()),
                "name a file, or one that does not exist yet");
  }
  const Path beside = path.string() + ".tmp" + std::to_string(::getpid());
  Result<void> written = write(beside);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) {
    written = std::unexpected(io_error("cannot rename to", path, errno));
  }
  if (!written) {
    ::unlink(beside.c_str());
    return written;
  }
  return sync_dir(path.has_parent_path() ? path.parent_path() : Path("."));
}

Result<void> write_synced(const Path& path, const Path& path_for_errors,
                          const std::function<Result<void>(int fd)>& write) {
  const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot write", path_for_errors, errno));
  }
  KEDGE_TRY(write(fd.get()));
  if (::fsync(fd.get()) != 0) {
    return std::unexpected(io_error("cannot sync", path_for_errors, errno));
  }
  return {};
}

Result<void> write_file_atomic(const Path& path, std::string_view content) {
  return replace_file(path, [&](const Path& beside) {
    return write_synced(beside, path, [&](int fd) { return write_all(fd, content, path); });
  });
}

Result<void> write_private_file(const Path& path, std::string_view content) {
  return replace_file(path, [&](const Path& beside) -> Result<void> {
    ::unlink(beside.c_str());  // of a process that was killed, or a link to somewhere else
    const OwnedFd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd.get() < 0) {
      return std::unexpected(io_error("cannot write", path, errno));
    }
    KEDGE_TRY(write_all(fd.get(), content, path));
    return ::fsync(fd.get()) == 0 ? Result<void>()
                                  : std::unexpected(io_error("cannot sync", path, errno));
  });
}

Result<void> make_dirs(const Path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return std::unexpected(io_error("cannot create folder", path, error.value()));
  }
  return {};
}

Result<void> make_private_dir(const Path& path) {
  KEDGE_TRY(make_dirs(path.parent_path().empty() ? Path(".") : path.parent_path()));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return std::unexpected(io_error("cannot create folder", path, errno));
  }
  if (::chmod(path.c_str(), 0700) != 0) {
    return std::unexpected(io_error("cannot close to others:", path, errno));
  }
  return {};
}

Result<void> sync_dir(const Path& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) {
    return std::unexpected(io_error("cannot sync folder", path, errno));
  }
  return {};
}

Result<std::uint64_t> size_of_file(const Path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) {
    return std::unexpected(io_error("cannot read", path, error.value()));
  }
  return size;
}

Result<MappedFile> MappedFile::open(const Path& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) {
    return std::unexpected(io_error("cannot read", path, errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::Io, fmt::format("cannot read {}: not a file", path.string()));
  }
  MappedFile file;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ == 0) {
    return file;
  }
  void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    file.size_ = 0;
    return std::unexpected(io_error("cannot map", path, errno));
  }
  file.data_ = static_cast<const std::uint8_t*>(data);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    // munmap does not change the bytes; its signature predates const.
    ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }
}

}  // namespace kedge
