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
  static Result<SpoolFile> create(const Path& folder);

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
  SpoolFile(Path path, OwnedFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Path path_;
  OwnedFd fd_;
  Sha256 hash_;
  std::uint64_t size_ = 0;
};

}  // namespace kedge::store
