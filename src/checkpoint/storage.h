// What is known of the storage below a folder: how much fits, and whether it is shared and slow.
#pragma once

#include <cstdint>
#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// Whether a checkpoint of `bytes` fits: free bytes and free inodes, with a margin. `folder` need
// not exist yet. The error has the numbers and says what to do. Quotas are not seen by it.
Result<void> check_room(const Path& folder, std::uint64_t bytes);

// "ext4", "xfs", "tmpfs", "nfs", "lustre", ...; the number in hex where it has no name here; empty
// when the system does not say.
std::string storage_kind(const Path& folder);

// NFS, Lustre, GPFS, BeeGFS, CIFS, Ceph, AFS, FUSE: slower than a local disk, used by others too.
bool is_network_storage(const Path& folder);

// Asks the kernel to forget the folder's files, so that the next read comes from the disk, and
// training data is not pushed out of memory by what nobody reads again. A wish: it never fails.
void drop_cached_pages(const Path& folder);

}  // namespace kedge::checkpoint
