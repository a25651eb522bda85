// kedge, kedge-train and its libtorch as one archive for machines that share no file system with
// us: bin/kedge, bin/kedge-train (which finds lib/ beside itself), lib/*. Made once for each build
// and kept in the user's cache.
#pragma once

#include "core/file.h"
#include "core/result.h"

namespace kedge::jobs {

struct SoftwareOptions {
  Path kedge;               // absolute; kedge-train is looked for beside it
  bool has_trainer = true;  // false: bin/kedge alone
  bool has_cuda = false;    // with libtorch's CUDA part and our plugin, where they are here
  Path cache = {};          // empty: $XDG_CACHE_HOME/kedge, ~/.cache/kedge
};

// The archive's path; it is made when it is not there yet. Errors: NotFound when there is no
// kedge-train, Io, Unavailable when tar or ldd fails.
Result<Path> make_software_archive(const SoftwareOptions& options);

// The same as files in `folder`, which is made; what is there under these names is replaced.
Result<void> copy_software(const SoftwareOptions& options, const Path& folder);

}  // namespace kedge::jobs
