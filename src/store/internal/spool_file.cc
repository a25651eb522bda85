#include "store/internal/spool_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/disk_room.h"

namespace kedge::store {

Result<SpoolFile> SpoolFile::create(const Path& folder, std::uint64_t reserve_bytes) {
  std::string name = (folder / "blob-XXXXXX").string();
  OwnedFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot write in", folder, errno));
  }
  return SpoolFile(name, std::move(fd), reserve_bytes);
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      reserve_bytes_(other.reserve_bytes_),
      hash_(other.hash_),
      size_(other.size_) {}

SpoolFile::~SpoolFile() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

Result<void> SpoolFile::add(std::string_view bytes) {
  KEDGE_TRY(check_room(path_.parent_path(), bytes.size(), reserve_bytes_));
  hash_.add(as_bytes(bytes));
  size_ += bytes.size();
  return write_all(fd_.get(), bytes, path_);
}

Result<StoredBlob> SpoolFile::finish(std::string_view expected) {
  StoredBlob blob{hash_.finish_hex(), size_};
  if (!expected.empty() && blob.digest != expected) {
    return fail(
        ErrorKind::Corrupt,
        fmt::format("the {} bytes have the SHA-256 {}, not {}", size_, blob.digest, expected),
        "send them again");
  }
  return blob;
}

Result<void> SpoolFile::sync() {
  if (::fsync(fd_.get()) != 0) {
    return std::unexpected(io_error("cannot sync", path_, errno));
  }
  return {};
}

}  // namespace kedge::store
