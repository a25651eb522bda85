// Blobs: bytes named by their SHA-256, kept in files (DIR/ab/cdef...) or in an S3 bucket. A blob is
// there wholly or not at all, never changes, and is what its name says: it is checked before it
// gets its name. Any thread may call anything here; a BlobWriter belongs to one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace kedge::store {

struct StoredBlob {
  std::string digest;  // 64 hex digits in lower case
  std::uint64_t size = 0;
};

struct BlobRange {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size = {};  // up to the end
};

struct BlobUsage {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

bool is_blob_digest(std::string_view text);

// One blob being written. Dropped without commit(), it leaves nothing behind.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // Io, as for a full disk, when it would eat into BlobOptions::reserve_bytes.
  virtual Result<void> add(std::string_view bytes) = 0;

  // Durable when it returns. Corrupt, and nothing is stored, when the bytes do not have the digest
  // that was `expected` (empty: any). A blob that was there already is left alone.
  virtual Result<StoredBlob> commit(std::string_view expected = {}) = 0;
};

struct BlobOptions {
  Path spool = {};  // where blobs for S3 lie until they are sent; empty: the system's folder
  // S3 only. A blob larger than one part is sent in parts, each of which can be sent again.
  std::uint64_t part_bytes = 16ULL << 20U;
  int attempts = 5;                 // of a request that failed for no fault of its own
  std::uint64_t reserve_bytes = 0;  // that stay free on the disk blobs are written to
};

using BlobSink = std::function<Result<void>(std::string_view bytes)>;

class BlobStore {
 public:
  // A folder, made when it is not there, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME with the
  // keys in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
  static Result<std::unique_ptr<BlobStore>> open(const std::string& address,
                                                 const BlobOptions& options = {});
  virtual ~BlobStore() = default;

  virtual Result<std::unique_ptr<BlobWriter>> begin() = 0;
  virtual Result<std::optional<std::uint64_t>> find_size(const std::string& digest) = 0;

  // NotFound: there is no such blob. Usage: the range begins beyond its end.
  virtual Result<void> read(const std::string& digest, const BlobRange& range,
                            const BlobSink& sink) = 0;

  // False: there was none.
  virtual Result<bool> remove(const std::string& digest) = 0;
  virtual Result<void> list(const std::function<void(const StoredBlob&)>& visit) = 0;

  // Where the blob lies, when it lies in a file that may be sent as it is.
  virtual std::optional<Path> find_path(const std::string& digest) const = 0;

  Result<StoredBlob> put(std::string_view bytes, std::string_view expected = {});
  Result<StoredBlob> put_file(const Path& path, std::string_view expected = {});
  Result<std::string> read_all(const std::string& digest, const BlobRange& range = {});
  Result<BlobUsage> usage();

  // Reads it all; Corrupt when it is not what its name says.
  Result<void> verify(const std::string& digest);
};

}  // namespace kedge::store
