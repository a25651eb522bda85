// Copies a checkpoint from one storage to another, compared with its hashes on the way.
#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/folder.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// Writes and syncs all files of the new folder `fresh`; returns their bytes. Shards that `earlier`
// has too are linked to where that can be done. An error of kind Corrupt means that the source is
// damaged.
Result<std::uint64_t> copy_folder(const Checkpoint& source, const Path& fresh,
                                  const Linkable& earlier);

}  // namespace kedge::checkpoint
