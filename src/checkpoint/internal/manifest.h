// manifest.json of a checkpoint: which shards it has, where each tensor lies, and their hashes.
// Its last line is a hash of all bytes before it, so damage anywhere in it is found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

struct TensorEntry {
  std::string name;
  DType type = DType::F32;
  std::vector<std::int64_t> shape;         // of the whole tensor
  std::vector<std::int64_t> slice_offset;  // where this shard's piece begins in it
  std::vector<std::int64_t> slice_shape;   // and how large the piece is
  std::uint64_t offset = 0;                // in the shard file
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> chunks;  // XXH3 per kChunkBytes

  bool operator==(const TensorEntry&) const = default;
};

struct ShardEntry {
  std::string name;
  std::string file;
  std::uint64_t size = 0;
  std::uint64_t header_hash = 0;
  std::vector<TensorEntry> tensors;

  bool operator==(const ShardEntry&) const = default;
};

struct Manifest {
  std::string created;  // UTC, ISO 8601
  std::vector<ShardEntry> shards;
  nlohmann::json state;
};

// A writer's shards, for the one that writes the manifest.
std::string render_shards(const std::vector<ShardEntry>& shards);
Result<std::vector<ShardEntry>> parse_shards(const std::string& text);

std::string render_manifest(const Manifest& manifest);
Result<Manifest> parse_manifest(const Path& path, const std::string& text);

}  // namespace kedge::checkpoint
