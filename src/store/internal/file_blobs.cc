#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal/blob_backends.h"
#include "store/internal/spool_file.h"

namespace kedge::store {
namespace {

constexpr const char* kIncoming = "incoming";  // no two hex digits: never a blob's folder
constexpr std::size_t kReadBytes = 1U << 18U;

Path path_in(const Path& folder, const std::string& digest) {
  return folder / digest.substr(0, 2) / digest.substr(2);
}

class FileBlobWriter : public BlobWriter {
 public:
  FileBlobWriter(Path folder, SpoolFile file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  Result<void> add(std::string_view bytes) override { return file_.add(bytes); }

  Result<StoredBlob> commit(std::string_view expected) override {
    StoredBlob blob = KEDGE_TRY(file_.finish(expected));
    const Path path = path_in(folder_, blob.digest);
    // One that is there was synced before it got its name. Of another length, it was damaged since.
    if (size_of_file(path).value_or(blob.size + 1) == blob.size) {
      return blob;
    }
    KEDGE_TRY(file_.sync());
    std::error_code error;
    if (std::filesystem::create_directory(path.parent_path(), error)) {
      KEDGE_TRY(sync_dir(folder_));
    } else if (error) {
      return std::unexpected(io_error("cannot create folder", path.parent_path(), error.value()));
    }
    if (::rename(file_.path().c_str(), path.c_str()) != 0) {
      return std::unexpected(io_error("cannot rename to", path, errno));
    }
    file_.keep();
    KEDGE_TRY(sync_dir(path.parent_path()));
    return blob;
  }

 private:
  Path folder_;
  SpoolFile file_;
};

class FileBlobs : public BlobStore {
 public:
  FileBlobs(Path folder, std::uint64_t reserve_bytes)
      : folder_(std::move(folder)), reserve_bytes_(reserve_bytes) {}

  Result<std::unique_ptr<BlobWriter>> begin() override {
    return std::make_unique<FileBlobWriter>(
        folder_, KEDGE_TRY(SpoolFile::create(folder_ / kIncoming, reserve_bytes_)));
  }

  Result<std::optional<std::uint64_t>> find_size(const std::string& digest) override {
    if (!is_blob_digest(digest)) {
      return std::nullopt;
    }
    const Result<std::uint64_t> size = size_of_file(path_in(folder_, digest));
    if (!size && size.error().kind == ErrorKind::NotFound) {
      return std::nullopt;
    }
    return KEDGE_TRY(size);
  }

  Result<void> read(const std::string& digest, const BlobRange& range,
                    const BlobSink& sink) override {
    const auto size = KEDGE_TRY(find_size(digest));
    if (!size) {
      return std::unexpected(no_such_blob(digest));
    }
    if (range.offset > *size) {
      return std::unexpected(beyond_end(digest, range.offset, *size));
    }
    const Path path = path_in(folder_, digest);
    const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) {
      return std::unexpected(io_error("cannot read", path, errno));
    }
    const std::uint64_t end =
        range.offset + std::min(range.size.value_or(*size), *size - range.offset);
    std::vector<char> buffer(kReadBytes);
    for (std::uint64_t at = range.offset; at < end;) {
      const ssize_t count =
          ::pread(fd.get(), buffer.data(), std::min<std::uint64_t>(buffer.size(), end - at),
                  static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count < 0) {
        return std::unexpected(io_error("cannot read", path, errno));
      }
      if (count == 0) {
        return fail(ErrorKind::Corrupt, path.string() + " became shorter while it was read");
      }
      KEDGE_TRY(sink({buffer.data(), static_cast<std::size_t>(count)}));
      at += static_cast<std::uint64_t>(count);
    }
    return {};
  }

  Result<bool> remove(const std::string& digest) override {
    if (!is_blob_digest(digest)) {
      return false;
    }
    const Path path = path_in(folder_, digest);
    if (::unlink(path.c_str()) == 0) {
      return true;
    }
    if (errno == ENOENT) {
      return false;
    }
    return std::unexpected(io_error("cannot remove", path, errno));
  }

  Result<void> list(const std::function<void(const StoredBlob&)>& visit) override {
    std::error_code error;
    std::filesystem::recursive_directory_iterator entry(folder_, error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator();
         entry.increment(error)) {
      const std::string digest =
          entry->path().parent_path().filename().string() + entry->path().filename().string();
      if (entry.depth() == 1 && is_blob_digest(digest)) {
        // One that was removed meanwhile is not there any more.
        if (const auto size = size_of_file(entry->path())) {
          visit({digest, *size});
        }
      }
    }
    if (error) {
      return std::unexpected(io_error("cannot list", folder_, error.value()));
    }
    return {};
  }

  std::optional<Path> find_path(const std::string& digest) const override {
    if (!is_blob_digest(digest)) {
      return std::nullopt;
    }
    const Path path = path_in(folder_, digest);
    return ::access(path.c_str(), R_OK) == 0 ? std::optional(path) : std::nullopt;
  }

 private:
  Path folder_;
  std::uint64_t reserve_bytes_;
};

// What a killed process left. A day is longer than any upload that is still going on.
void remove_old_files(const Path& incoming) {
  constexpr auto kOld = std::chrono::hours(24);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(incoming, error)) {
    const auto written = entry.last_write_time(error);
    if (!error && std::filesystem::file_time_type::clock::now() - written > kOld) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

}  // namespace

Result<std::unique_ptr<BlobStore>> open_file_blobs(const Path& folder, const BlobOptions& options) {
  KEDGE_TRY(make_dirs(folder / kIncoming));
  remove_old_files(folder / kIncoming);
  return std::make_unique<FileBlobs>(folder, options.reserve_bytes);
}

}  // namespace kedge::store
