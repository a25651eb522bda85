// Versions of artifacts as they stand in the database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/artifacts.h"
#include "store/database.h"

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

}  // namespace kedge::store
