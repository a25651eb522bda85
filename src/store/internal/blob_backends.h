// The two places where blobs lie.
#pragma once

#include <memory>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "store/blobs.h"

namespace kedge::store {

Result<std::unique_ptr<BlobStore>> open_file_blobs(const Path& folder, const BlobOptions& options);

// `address` begins with s3://.
Result<std::unique_ptr<BlobStore>> open_s3_blobs(const std::string& address,
                                                 const BlobOptions& options);

Error no_such_blob(const std::string& digest);
Error beyond_end(const std::string& digest, std::uint64_t offset, std::uint64_t size);

}  // namespace kedge::store
