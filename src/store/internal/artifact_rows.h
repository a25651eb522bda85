// Versions of artifacts as they stand in the database.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/artifacts.h"
#include "store/internal/database.h"

namespace kedge::store {

// A version with the number of its row.
struct StoredVersion {
  std::int64_t id = 0;
  ArtifactVersion version;
};

// All versions of an artifact, oldest first.
Result<std::vector<StoredVersion>> read_versions(Database& database, const std::string& project,
                                                 const std::string& name);

// By version, alias or "latest"; NotFound says what there is.
Result<StoredVersion> find_version(Database& database, const std::string& project,
                                   const std::string& name, const std::string& word);

// What is known of these drafts (a condition on artifact_drafts) is no more, but that they were.
// Returns the blobs they held.
Result<std::vector<std::string>> forget_drafts(Database& database, std::string_view which,
                                               std::initializer_list<SqlValue> values);

}  // namespace kedge::store
