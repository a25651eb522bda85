// Files of which exactly one writer succeeds, on network file systems too.
#pragma once

#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

// Makes the file with this content unless it exists: false when it does. Readers see all of it or
// nothing, and of many writers, on any machines, one wins: the name is made by link(). On file
// systems without hard links the file is empty for a moment.
Result<bool> create_file_exclusively(const Path& path, std::string_view content);

}  // namespace kedge
