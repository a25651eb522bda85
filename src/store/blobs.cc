#include "store/blobs.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/hash.h"
#include "store/internal/blob_backends.h"

namespace kedge::store {

bool is_blob_digest(std::string_view text) {
  constexpr std::size_t kHexDigits = 64;
  return text.size() == kHexDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Error no_such_blob(const std::string& digest) {
  return {ErrorKind::NotFound, fmt::format("there is no blob {}", digest), ""};
}

Error beyond_end(const std::string& digest, std::uint64_t offset, std::uint64_t size) {
  return {ErrorKind::Usage,
          fmt::format("blob {} has {} bytes; none are at {}", digest, size, offset), ""};
}

Result<std::unique_ptr<BlobStore>> BlobStore::open(const std::string& address,
                                                   const BlobOptions& options) {
  if (address.starts_with("s3://")) {
    return open_s3_blobs(address, options);
  }
  return open_file_blobs(address, options);
}

Result<StoredBlob> BlobStore::put(std::string_view bytes, std::string_view expected) {
  const std::unique_ptr<BlobWriter> writer = KEDGE_TRY(begin());
  KEDGE_TRY(writer->add(bytes));
  return writer->commit(expected);
}

Result<StoredBlob> BlobStore::put_file(const Path& path, std::string_view expected) {
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
  return put({bytes, file.bytes().size()}, expected);
}

Result<std::string> BlobStore::read_all(const std::string& digest, const BlobRange& range) {
  std::string all;
  KEDGE_TRY(read(digest, range, [&](std::string_view bytes) -> Result<void> {
    all += bytes;
    return {};
  }));
  return all;
}

Result<BlobUsage> BlobStore::usage() {
  BlobUsage usage;
  KEDGE_TRY(list([&](const StoredBlob& blob) {
    ++usage.count;
    usage.bytes += blob.size;
  }));
  return usage;
}

Result<void> BlobStore::verify(const std::string& digest) {
  Sha256 hash;
  KEDGE_TRY(read(digest, {}, [&](std::string_view bytes) -> Result<void> {
    hash.add(as_bytes(bytes));
    return {};
  }));
  if (const std::string found = hash.finish_hex(); found != digest) {
    return fail(ErrorKind::Corrupt,
                fmt::format("blob {} is damaged: it has the SHA-256 {}", digest, found));
  }
  return {};
}

}  // namespace kedge::store
