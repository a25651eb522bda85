// Writes one safetensors file front to back, hashing each tensor in chunks on the way.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// Bytes per hash: small enough to say where damage is, large enough that hashes cost nothing.
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20U;

struct WrittenTensor {
  const TensorView* tensor = nullptr;
  std::uint64_t offset = 0;           // of its first byte, from the beginning of the file
  std::vector<std::uint64_t> chunks;  // XXH3 of each chunk, in order
};

struct WrittenShard {
  std::uint64_t size = 0;
  std::uint64_t header_hash = 0;  // XXH3 of everything before the data
  std::vector<WrittenTensor> tensors;
};

// The file is synced when this returns; it is written in place, so the caller provides atomicity.
Result<WrittenShard> write_shard(const Path& path, std::span<const TensorView> tensors,
                                 const std::map<std::string, std::string>& metadata);

}  // namespace kedge::checkpoint
