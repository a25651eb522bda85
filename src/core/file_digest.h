// Digests of whole files.
#pragma once

#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

// SHA-256 as 64 hex digits.
Result<std::string> sha256_of_file(const Path& path);

}  // namespace kedge
