#include "checkpoint/storage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/file.h"
#include "core/result.h"
#include "core/units.h"

namespace kedge::checkpoint {
namespace {

// Shards, manifest and folder of one checkpoint, and as many of the next.
constexpr std::uint64_t kInodes = 32;

struct StorageKind {
  std::uint64_t magic;
  std::string_view name;
  bool is_network;
};

// f_type of statfs(2), statfs's manual page and the file systems' own sources.
constexpr std::array<StorageKind, 20> kKinds = {{
    {0xEF53, "ext4", false},      {0x58465342, "xfs", false},       {0x9123683E, "btrfs", false},
    {0x2FC12FC1, "zfs", false},   {0xF2F52010, "f2fs", false},      {0x01021994, "tmpfs", false},
    {0x858458F6, "ramfs", false}, {0x794C7630, "overlayfs", false}, {0x6969, "nfs", true},
    {0x0BD00BD0, "lustre", true}, {0x47504653, "gpfs", true},       {0x19830326, "beegfs", true},
    {0xFF534D42, "cifs", true},   {0xFE534D42, "smb2", true},       {0x517B, "smb", true},
    {0x00C36400, "ceph", true},   {0x5346414F, "afs", true},        {0x65735546, "fuse", true},
    {0x01021997, "9p", true},     {0xAAD7AAEA, "panfs", true},
}};

// The folder, or the nearest one above it that exists.
Path existing_part(const Path& folder) {
  std::error_code error;
  Path path = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(path, error) && path.has_relative_path()) {
    path = path.parent_path();
  }
  return path;
}

std::uint64_t magic_of(const Path& folder) {
  struct statfs info{};
  if (::statfs(existing_part(folder).c_str(), &info) != 0) {
    return 0;
  }
  // Some are negative as the signed 32-bit numbers that certain machines have here.
  return static_cast<std::uint32_t>(info.f_type);
}

const StorageKind* find_kind(std::uint64_t magic) {
  const auto* found = std::ranges::find(kKinds, magic, &StorageKind::magic);
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace

Result<void> check_room(const Path& folder, std::uint64_t bytes) {
  const Path path = existing_part(folder);
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) {
    return std::unexpected(io_error("cannot ask for the free space of", path, errno));
  }
  const bool is_root = ::geteuid() == 0;
  const std::uint64_t free = info.f_frsize * (is_root ? info.f_bfree : info.f_bavail);
  // Blocks that are not filled, and what the file system writes about them.
  const std::uint64_t needed = bytes + bytes / 100 + kInodes * info.f_frsize;
  if (free < needed) {
    return fail(ErrorKind::Io,
                fmt::format("no room for a checkpoint in {}: it needs {}, {} are free",
                            folder.string(), render_bytes({needed}), render_bytes({free})),
                "free some space, keep fewer checkpoints (checkpoint.keep_last, keep_best), or "
                "choose another folder");
  }
  // File systems that make inodes as they need them say 0 of 0.
  const std::uint64_t inodes = is_root ? info.f_ffree : info.f_favail;
  if (info.f_files != 0 && inodes < kInodes) {
    return fail(ErrorKind::Io,
                fmt::format("no room for a checkpoint in {}: {} of {} inodes are free, it needs {}",
                            folder.string(), inodes, info.f_files, kInodes),
                "the file system is out of files, not of bytes: remove or pack small files");
  }
  return {};
}

std::string storage_kind(const Path& folder) {
  const std::uint64_t magic = magic_of(folder);
  if (const StorageKind* kind = find_kind(magic)) {
    return std::string(kind->name);
  }
  return magic == 0 ? std::string() : fmt::format("{:#x}", magic);
}

bool is_network_storage(const Path& folder) {
  const StorageKind* kind = find_kind(magic_of(folder));
  return kind != nullptr && kind->is_network;
}

void drop_cached_pages(const Path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const OwnedFd fd(::open(file->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() >= 0) {
      ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
  }
}

}  // namespace kedge::checkpoint
