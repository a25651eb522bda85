// Paths inside a folder that somebody else chose: names in a server's answer, files in a folder
// that another user fills. Nothing outside the folder is read or written through them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

// Whether a path stays inside whatever folder it is joined to: relative, at most 4096 bytes, no
// NUL, and no part between slashes or backslashes that is empty, "." or "..".
bool is_inside(std::string_view path);

// `folder` / `path`, for a file that will be written there. Corrupt when the path leads out of the
// folder; Usage when something below the folder on its way, or the file itself, is a symbolic link
// that is there already. The folder itself may be one, and need not be there yet.
Result<Path> join_inside(const Path& folder, std::string_view path);

// Opens a regular file below `folder` for reading. `folder` may be a symbolic link; below it none
// is followed, also when somebody changes names at the same time, and nothing waits for a named
// pipe. An empty folder is the current one. NotFound, or Io for what is no regular file or cannot
// be read.
Result<OwnedFd> open_inside(const Path& folder, const Path& path);

// The same for a folder; what is returned only names it (O_PATH).
Result<OwnedFd> open_folder_inside(const Path& folder, const Path& path);

// All of such a file; Io when it is larger than `max_bytes`.
Result<std::string> read_inside(const Path& folder, const Path& path,
                                std::uint64_t max_bytes = 64U << 20U);

}  // namespace kedge
