#include "core/exclusive_file.h"

#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/result.h"

namespace kedge {
namespace {

// A name beside the target that no other thread, process or machine uses.
Path own_path(const Path& target) {
  static std::atomic<unsigned> counter = 0;
  return target.parent_path() / fmt::format(".claim-{}-{}-{}", host_name(), ::getpid(), ++counter);
}

bool lacks_links(int error_number) {
  return error_number == EPERM || error_number == EOPNOTSUPP || error_number == ENOSYS ||
         error_number == EMLINK;
}

Result<bool> create_without_link(const Path& path, std::string_view content) {
  const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    if (errno == EEXIST) {
      return false;
    }
    return std::unexpected(io_error("cannot create", path, errno));
  }
  KEDGE_TRY(write_file_atomic(path, content));
  return true;
}

}  // namespace

Result<bool> create_file_exclusively(const Path& path, std::string_view content) {
  const Path own = own_path(path);
  if (auto written = write_synced(own, path, [&](int fd) { return write_all(fd, content, path); });
      !written) {
    ::unlink(own.c_str());
    return std::unexpected(written.error());
  }
  const int error = ::link(own.c_str(), path.c_str()) == 0 ? 0 : errno;
  // An answer lost on the way makes a client ask again and be told of its own success: the number
  // of names tells.
  struct stat info{};
  const bool is_ours = error == 0 || (::stat(own.c_str(), &info) == 0 && info.st_nlink == 2);
  ::unlink(own.c_str());
  if (is_ours) {
    KEDGE_TRY(sync_dir(path.parent_path()));
    return true;
  }
  if (error == EEXIST) {
    return false;
  }
  if (lacks_links(error)) {
    return create_without_link(path, content);
  }
  return std::unexpected(io_error("cannot create", path, error));
}

}  // namespace kedge
