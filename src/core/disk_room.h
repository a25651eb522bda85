// Room on a disk that stays free: uploads stop before the database beside them has none left.
#pragma once

#include <cstdint>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

// What is left free where nobody says otherwise: 5 % of the disk, at most 1 GiB.
std::uint64_t default_reserve(const Path& folder);

// Io ("No space left", 507 over HTTP) when `more` bytes would leave less than `reserve_bytes` free
// on the folder's disk. A reserve of 0 asks for nothing.
Result<void> check_room(const Path& folder, std::uint64_t more, std::uint64_t reserve_bytes);

}  // namespace kedge
