// Whole files that may be gzip-compressed.
#pragma once

#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge::data {

// The content of `path`, or, when there is no such file, the unpacked content of `path`.gz.
Result<std::string> read_plain_or_gz(const Path& path);

Result<std::string> unpack_gzip(const std::string& packed, const Path& path_for_errors);

}  // namespace kedge::data
