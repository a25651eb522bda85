// The stored (uncompressed) entries of a zip file in memory, zip64 included: what torch.save
// writes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// Name -> bytes inside `file`. Compressed entries (TorchScript's code) are left out. Any damage is
// a Corrupt error; `path` is for its message.
Result<std::map<std::string, std::span<const std::uint8_t>>> read_zip(
    const Path& path, std::span<const std::uint8_t> file);

}  // namespace kedge::checkpoint
