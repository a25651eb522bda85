// Reads a shard front to back and compares every byte with the manifest's hashes on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "checkpoint/internal/manifest.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

using UseBlock = std::function<Result<void>(std::span<const std::uint8_t>)>;

// Hands the whole file to `use` in checked blocks of a few MiB. The error names the tensor, the
// shard and the bytes of the first difference. read() and not a map: a disk that fails gives an
// error, where a map would kill the process.
Result<void> read_checked(const Path& checkpoint, const ShardEntry& shard, const UseBlock& use);

}  // namespace kedge::checkpoint
