// What is asked of a version of an artifact before anything of it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/artifacts.h"

namespace kedge::store {

// "3" and "v3" are versions, everything else is an alias.
std::optional<std::int64_t> parse_version(std::string_view word);

Result<void> check_alias(const std::string& alias);
Result<void> check_draft(const ArtifactDraft& draft);

// Of the list of files, in whatever order they come.
std::string digest_of(const std::vector<ArtifactFile>& files);

}  // namespace kedge::store
