// SHA-256 of what is at hand whole, as 64 hex digits; core/hash.h has it for what comes in parts.
#pragma once

#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

std::string sha256_of(std::string_view text);
Result<std::string> sha256_of_file(const Path& path);

}  // namespace kedge
