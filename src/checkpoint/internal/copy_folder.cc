#include "checkpoint/internal/copy_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/manifest.h"
#include "checkpoint/internal/shard_reader.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

Result<void> copy_shard(const Path& source, const ShardEntry& shard, const Path& target) {
  const OwnedFd fd(::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot write", target, errno));
  }
  KEDGE_TRY(read_checked(source, shard, [&](std::span<const std::uint8_t> block) {
    return write_all(fd.get(),
                     std::string_view(reinterpret_cast<const char*>(block.data()), block.size()),
                     target);
  }));
  if (::fsync(fd.get()) != 0) {
    return std::unexpected(io_error("cannot sync", target, errno));
  }
  return {};
}

}  // namespace

Result<std::uint64_t> copy_folder(const Checkpoint& source, const Path& fresh,
                                  const Linkable& earlier) {
  KEDGE_TRY(make_dirs(fresh));
  std::uint64_t bytes = 0;
  for (const ShardEntry& shard : source.manifest().shards) {
    const auto same = std::ranges::find(earlier.shards, shard);
    if (same == earlier.shards.end() || !link_shard(earlier, shard.file, fresh / shard.file)) {
      KEDGE_TRY(copy_shard(source.path(), shard, fresh / shard.file));
    }
    bytes += shard.size;
  }
  const std::string text = KEDGE_TRY(read_file(source.path() / kManifestFile));
  KEDGE_TRY(parse_manifest(source.path() / kManifestFile, text));
  KEDGE_TRY(write_file_atomic(fresh / kManifestFile, text));
  return bytes + text.size();
}

}  // namespace kedge::checkpoint
