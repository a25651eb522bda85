#include "core/disk_room.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "core/units.h"

namespace kedge {

std::uint64_t default_reserve(const Path& folder) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30U;
  constexpr std::uint64_t kPart = 20;
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    return 0;
  }
  return std::min<std::uint64_t>(disk.f_blocks * disk.f_frsize / kPart, kMost);
}

Result<void> check_room(const Path& folder, std::uint64_t more, std::uint64_t reserve_bytes) {
  struct statvfs disk{};
  if (reserve_bytes == 0 || ::statvfs(folder.c_str(), &disk) != 0) {
    return {};  // what cannot be asked shows when it is written
  }
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free_bytes >= reserve_bytes && free_bytes - reserve_bytes >= more) {
    return {};
  }
  return fail(ErrorKind::Io,
              fmt::format("No space left for {} in {}: {} are free, and {} stay free for the "
                          "database",
                          render_bytes({more}), folder.string(), render_bytes({free_bytes}),
                          render_bytes({reserve_bytes})),
              "delete runs or artifacts; --disk-reserve of the server says what stays free");
}

}  // namespace kedge
