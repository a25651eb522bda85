// A checkpoint is a folder: safetensors shards and manifest.json, which names every tensor with
// its global shape, slice and chunk hashes, and holds the rest of the trainer's state as JSON.
// docs/formats/checkpoint.md is the byte layout. A folder without a manifest is not a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/placement.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// One shard's worth of tensors: "model" (weights, readable by any safetensors library),
// "optimizer", "ema", ...
struct Part {
  std::string name;
  std::vector<TensorView> tensors;
  // Never changes while a Saver lives: of several saves one writes the bytes, in a file of their
  // own, and the others link to it. Another part may have the same name.
  bool is_frozen = false;
};

// Writes <path>.tmp-<pid>, hashes while writing, syncs, renames to <path>; an existing <path> is
// replaced only once the new one is complete, and a folder that is no checkpoint never is.
// In `state`, JSON has no infinities or NaN: they would come back as null.
// With more than one shard, each part's tensors are shared out over so many files.
Result<void> write_checkpoint(const Path& path, std::span<const Part> parts,
                              const nlohmann::json& state, std::int64_t shards = 1);

// Who writes which of tensors of these sizes: about the same bytes each, and the same answer
// wherever it is asked.
std::vector<std::size_t> assign_writers(std::span<const std::uint64_t> sizes, std::size_t writers);

struct Manifest;

class Checkpoint {
 public:
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  // Reads and checks the manifest and the shards' headers. verify() checks the bytes. Where a
  // replacement was cut between its two renames, the old checkpoint (<path>.old) is opened.
  static Result<Checkpoint> open(const Path& path);

  const nlohmann::json& state() const;
  const std::string& created() const;  // UTC, ISO 8601

  const Path& path() const { return path_; }  // where it lies: what open() was given, or .old

  std::uint64_t bytes() const;  // of all shards

  std::vector<std::string> part_names() const;  // as they were written
  bool has_part(const std::string& name) const;

  // Tensors that were written in pieces are whole here: they are put together when the part's
  // tensors are first asked for.
  const TensorFile& part(const std::string& name) const;

  // Fills `out` with a piece of a tensor, whatever pieces it was written in, and reads no other
  // values. The slice must lie inside the tensor and `out` have its size.
  Result<void> read_slice(const std::string& part, const std::string& tensor, const Slice& slice,
                          std::span<std::uint8_t> out) const;

  // Reads every byte and compares it with its hash; the error names the first bad tensor, shard
  // and offset.
  Result<void> verify() const;

  // For this room.
  const Manifest& manifest() const { return *manifest_; }

 private:
  Checkpoint();

  Path path_;
  std::unique_ptr<Manifest> manifest_;
  std::map<std::string, std::unique_ptr<TensorFile>> parts_;
};

}  // namespace kedge::checkpoint
