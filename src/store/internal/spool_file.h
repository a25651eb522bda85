// A blob on its way: a file without a name of its own yet, hashed while it is written, gone when it
// is dropped.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "store/blobs.h"

namespace kedge::store {

class SpoolFile {
 public:
  // `reserve_bytes` stay free on the folder's disk.
  static Result<SpoolFile> create(const Path& folder, std::uint64_t reserve_bytes);

  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;
  ~SpoolFile();

  Result<void> add(std::string_view bytes);

  // What was written; Corrupt when that is not what was expected. Nothing may be added after it.
  Result<StoredBlob> finish(std::string_view expected);

  Result<void> sync();

  const Path& path() const { return path_; }

  // It has got another name, and is no longer this object's to remove.
  void keep() { path_.clear(); }

 private:
  SpoolFile(Path path, OwnedFd fd, std::uint64_t reserve_bytes)
      : path_(std::move(path)), fd_(std::move(fd)), reserve_bytes_(reserve_bytes) {}

  Path path_;
  OwnedFd fd_;
  std::uint64_t reserve_bytes_ = 0;
  Sha256 hash_;
  std::uint64_t size_ = 0;
};

}  // namespace kedge::store
