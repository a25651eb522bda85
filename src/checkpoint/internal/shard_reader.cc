#include "checkpoint/internal/shard_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint/internal/manifest.h"
#include "checkpoint/internal/shard_writer.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"

namespace kedge::checkpoint {
namespace {

// A stretch of the file under one hash.
struct Range {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  const TensorEntry* tensor = nullptr;  // null: the header
};

std::unexpected<Error> damaged(const Path& checkpoint, std::string_view what) {
  return fail(ErrorKind::Corrupt,
              fmt::format("checkpoint {} is damaged: {}", checkpoint.string(), what),
              "use an older checkpoint of the run");
}

// All ranges in order, the header first; nothing lies between them.
Result<std::vector<Range>> list_ranges(const Path& checkpoint, const ShardEntry& shard) {
  std::vector<Range> ranges(1);
  std::uint64_t data_bytes = 0;
  for (const TensorEntry& tensor : shard.tensors) {
    if (tensor.bytes > shard.size - data_bytes ||
        tensor.chunks.size() != (tensor.bytes + kChunkBytes - 1) / kChunkBytes) {
      return damaged(checkpoint, fmt::format("its manifest contradicts itself at tensor '{}' of {}",
                                             tensor.name, shard.file));
    }
    data_bytes += tensor.bytes;
    std::uint64_t rest = tensor.bytes;
    for (const std::uint64_t hash : tensor.chunks) {
      ranges.push_back({std::min(rest, kChunkBytes), hash, &tensor});
      rest -= ranges.back().bytes;
    }
  }
  ranges.front() = {shard.size - data_bytes, shard.header_hash, nullptr};
  return ranges;
}

// Fills `block`; false when the file ends before.
Result<bool> fill(int fd, std::span<std::uint8_t> block, const Path& path) {
  while (!block.empty()) {
    const ssize_t count = ::read(fd, block.data(), block.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return std::unexpected(io_error("cannot read", path, errno));
    }
    if (count == 0) {
      return false;
    }
    block = block.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::unexpected<Error> wrong_hash(const Path& checkpoint, const ShardEntry& shard,
                                  const Range& range, std::uint64_t offset) {
  if (range.tensor == nullptr) {
    return damaged(checkpoint,
                   fmt::format("the header of shard {} does not match its hash", shard.file));
  }
  return damaged(checkpoint,
                 fmt::format("tensor '{}' in shard {} differs from its hash within "
                             "bytes {} to {} of the file",
                             range.tensor->name, shard.file, offset, offset + range.bytes));
}

}  // namespace

Result<void> read_checked(const Path& checkpoint, const ShardEntry& shard, const UseBlock& use) {
  const std::vector<Range> ranges = KEDGE_TRY(list_ranges(checkpoint, shard));
  const Path path = checkpoint / shard.file;
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot read", path, errno));
  }
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::uint8_t> block;
  std::uint64_t offset = 0;
  for (std::size_t next = 0; next < ranges.size();) {
    // Small tensors are read together.
    std::size_t end = next;
    std::uint64_t bytes = 0;
    do {
      bytes += ranges[end++].bytes;
    } while (end < ranges.size() && bytes + ranges[end].bytes <= kChunkBytes);
    block.resize(static_cast<std::size_t>(bytes));
    if (!KEDGE_TRY(fill(fd.get(), block, path))) {
      return damaged(checkpoint, fmt::format("shard {} ends before byte {} of {}", shard.file,
                                             offset + bytes, shard.size));
    }
    std::size_t at = 0;
    for (; next < end; ++next) {
      const auto range_bytes = static_cast<std::size_t>(ranges[next].bytes);
      if (xxh3_64(std::span(block).subspan(at, range_bytes)) != ranges[next].hash) {
        return wrong_hash(checkpoint, shard, ranges[next], offset + at);
      }
      at += range_bytes;
    }
    KEDGE_TRY(use(block));
    offset += bytes;
  }
  return {};
}

}  // namespace kedge::checkpoint
