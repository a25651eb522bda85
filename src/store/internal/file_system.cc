#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/internal/backends.h"

namespace kedge::store {
namespace {

struct FileSystem {
  std::int64_t magic;
  std::string_view name;
};

constexpr std::array kNetworkFileSystems = {
    FileSystem{0x6969, "NFS"},         FileSystem{0x517B, "SMB"},
    FileSystem{0xFF534D42, "CIFS"},    FileSystem{0xFE534D42, "SMB2"},
    FileSystem{0x0BD00BD0, "Lustre"},  FileSystem{0x47504653, "GPFS"},
    FileSystem{0x65735546, "FUSE"},    FileSystem{0x00C36400, "Ceph"},
    FileSystem{0x5346414F, "AFS"},     FileSystem{0x6B414653, "AFS"},
    FileSystem{0x01021997, "9P"},      FileSystem{0x73757245, "Coda"},
    FileSystem{0x19830326, "BeeGFS"},  FileSystem{0xAAD7AAEA, "PanFS"},
    FileSystem{0x7461636F, "OCFS2"},   FileSystem{0x01161970, "GFS2"},
    FileSystem{0x20030528, "OrangeFS"}};

}  // namespace

std::optional<std::string_view> network_file_system(std::int64_t magic) {
  // The kernel's type is signed on some machines: only the 32 bits count.
  const auto* found =
      std::ranges::find(kNetworkFileSystems, magic & 0xFFFFFFFF, &FileSystem::magic);
  return found == kNetworkFileSystems.end() ? std::nullopt : std::optional(found->name);
}

}  // namespace kedge::store
