#include "core/inside.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kedge {
namespace {

constexpr std::size_t kMaxInsidePath = 4096;

// One part after the other, for kernels and sandboxes without openat2. A folder that is replaced by
// a link in between is refused like any link.
int walk_inside(int folder, const Path& path, int flags) {
  OwnedFd at;
  const Path parents = path.parent_path();
  for (const Path& part : parents) {
    OwnedFd next(::openat(at.get() < 0 ? folder : at.get(), part.c_str(),
                          O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next.get() < 0) {
      return -1;
    }
    at = std::move(next);
  }
  return ::openat(at.get() < 0 ? folder : at.get(), path.filename().c_str(), flags | O_NOFOLLOW);
}

int open_beneath(int folder, const Path& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  const bool is_unknown = fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL);
  return is_unknown ? walk_inside(folder, path, flags) : static_cast<int>(fd);
}

Result<OwnedFd> open_below(const Path& folder, const Path& path, int flags) {
  if (!is_inside(path.native())) {
    return fail(ErrorKind::Corrupt,
                fmt::format("'{}' is no path inside {}", path.string(), folder.string()));
  }
  const OwnedFd top(
      ::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  OwnedFd fd(top.get() < 0 ? -1 : open_beneath(top.get(), path, flags | O_CLOEXEC));
  if (fd.get() < 0 && errno == ELOOP) {
    return fail(ErrorKind::Io, fmt::format("{} is, or lies behind, a symbolic link: it is not read",
                                           (folder / path).string()));
  }
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot open", folder / path, errno));
  }
  return fd;
}

}  // namespace

bool is_inside(std::string_view path) {
  if (path.empty() || path.size() > kMaxInsidePath || path.contains('\0')) {
    return false;
  }
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find_first_of("/\\", start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    start = end + 1;
  }
  return true;
}

Result<Path> join_inside(const Path& folder, std::string_view path) {
  if (!is_inside(path)) {
    std::string shown(path.substr(0, kMaxInsidePath));
    std::ranges::replace(shown, '\0', '?');
    return fail(ErrorKind::Corrupt,
                fmt::format("'{}' leads out of {}: nothing is written there", shown,
                            folder.empty() ? "the folder" : folder.string()),
                "whoever named this file is not to be trusted");
  }
  Path joined = folder;
  for (const Path& part : Path(path)) {
    joined /= part;
    std::error_code ignored;
    if (std::filesystem::is_symlink(joined, ignored)) {
      return fail(
          ErrorKind::Usage,
          fmt::format("{} is a symbolic link: nothing is written through it", joined.string()),
          "remove it, or choose another folder");
    }
  }
  return joined;
}

Result<OwnedFd> open_inside(const Path& folder, const Path& path) {
  // Without O_NONBLOCK the opening of a named pipe waits for its writer.
  OwnedFd fd = KEDGE_TRY(open_below(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorKind::Io,
                fmt::format("{} is no regular file: it is not read", (folder / path).string()));
  }
  return fd;
}

Result<OwnedFd> open_folder_inside(const Path& folder, const Path& path) {
  return open_below(folder, path, O_PATH | O_DIRECTORY);
}

Result<std::string> read_inside(const Path& folder, const Path& path, std::uint64_t max_bytes) {
  const OwnedFd fd = KEDGE_TRY(open_inside(folder, path));
  std::string text;
  std::array<char, 1U << 16U> buffer;
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::unexpected(io_error("cannot read", folder / path, errno));
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return fail(ErrorKind::Io, fmt::format("{} has more than {} bytes: it is not read",
                                             (folder / path).string(), max_bytes));
    }
  }
}

}  // namespace kedge
