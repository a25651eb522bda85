// Every column of the schema that names a blob. What keeps, copies, checks or frees blobs asks
// here, so that all of them agree on which ones are needed: a table that is not known here loses
// its bytes with the next deletion, and is missing from every backup.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/blobs.h"
#include "store/internal/database.h"

namespace kedge::store {

struct BlobReference {
  std::string_view table;
  std::string_view column;               // of the digest; an empty text there names no blob
  std::string_view size_column = {};     // empty: the table does not say how large the blob is
  std::string_view condition = "1 = 1";  // which rows name blobs
  std::string_view project;              // SQL of a row: the name of the project it belongs to
};

// A test compares this list with the schema.
std::span<const BlobReference> blob_references();

// Each blob that any row names, once, in order of their digests. The size is 0 where no row says.
Result<std::vector<StoredBlob>> list_referred_blobs(Database& database);

// `project`: whether rows of this project name it; empty: whether any do.
Result<bool> is_blob_referred(Database& database, std::string_view digest,
                              std::string_view project = {});

// How many bytes the blobs have that rows of this project name, each counted once.
Result<std::uint64_t> sum_referred_bytes(Database& database, std::string_view project);

}  // namespace kedge::store
