// The steps by which a checkpoint folder comes and goes: written under a temporary name, committed
// by rename, set aside when bad, removed so that no half of it is left under its name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/manifest.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

inline constexpr std::string_view kManifestFile = "manifest.json";

enum class NameKind : std::uint8_t {
  Plain,
  Temporary,  // <name>.tmp-<pid>: being written or removed; nobody's after a crash
  Aside,      // <name>.old: the checkpoint that a replacement moved away
  Bad,        // <name>.bad, <name>.bad-2, ...: damaged, kept for people
};

NameKind kind_of_name(std::string_view name);

bool is_there(const Path& path);
Path without_trailing_slash(const Path& path);
Path parent_of(const Path& path);

// <path>.old is the current checkpoint only while `path` itself is missing.
Path aside_of(const Path& path);
Path temporary_of(const Path& path);

// A folder of the user's that is no checkpoint must not be replaced by one.
Result<void> check_replaceable(const Path& path);

// "model.safetensors", or of many writers "model-00002-of-00004.safetensors".
std::string shard_name(const std::string& part, std::int64_t writer, std::int64_t writers);

// Shards of a checkpoint that another one may link to instead of writing them again. Its folder may
// be gone by then.
struct Linkable {
  Path folder;
  std::vector<ShardEntry> shards;
};

// Whether `target` now is the shard `file` of `from`, by a hard link.
bool link_shard(const Linkable& from, const std::string& file, const Path& target);

// Writes and syncs the shards of one writer into `folder`, which exists. Parts without tensors get
// no file when there are other writers. Frozen parts are linked to those of `earlier` where that
// can be done.
Result<std::vector<ShardEntry>> write_shards(const Path& folder, std::span<const Part> parts,
                                             std::int64_t writer, std::int64_t writers,
                                             const Linkable& earlier = {});

// The last file of a folder, with all shards; returns the bytes of all.
Result<std::uint64_t> write_manifest(const Path& folder, std::vector<ShardEntry> shards,
                                     const nlohmann::json& state);

// Renames `fresh` to `path`, durably. A checkpoint at `path` becomes <path>.old and is kept: the
// caller removes it once it trusts the new one, or takes it back. Between the two renames only
// <path>.old exists, and Checkpoint::open finds it there.
Result<void> commit_folder(const Path& fresh, const Path& path);

// Removes what commit_folder kept.
void remove_aside(const Path& path);

// Renames to <path>.bad (or .bad-2, ...) and returns that name; <path>.old takes its place, if any.
Result<Path> set_bad_aside(const Path& path);

// Renamed first: a crash in between must not leave a folder that looks like a damaged checkpoint.
Result<void> remove_folder(const Path& path);

// Removes without a word; for temporary folders.
void remove_quietly(const Path& path);

// Finishes or takes back what a dead process left half done in `folder`: temporary folders go, and
// <name>.old gets its name back, or goes once what replaced it is verified. The caller is the only
// writer of `folder`.
void clean_leftovers(const Path& folder);

Result<Checkpoint> open_verified(const Path& path);
Result<Manifest> read_manifest(const Path& folder);

}  // namespace kedge::checkpoint
