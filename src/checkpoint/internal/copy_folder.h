// Copies a checkpoint from one storage to another, compared with its hashes on the way.
#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// Writes and syncs all files of the new folder `fresh`; returns their bytes. An error of kind
// Corrupt means that the source is damaged.
Result<std::uint64_t> copy_folder(const Checkpoint& source, const Path& fresh);

}  // namespace kedge::checkpoint
