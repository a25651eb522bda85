// Runs that were deleted: out of sight at once, restorable for some days, then gone with their
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result.h"
#include "server/api.h"

namespace kedge::server {

// Removes a run for good, and the blobs that nothing else holds. Blobs that cannot be removed are a
// warning: the run is gone.
Result<void> remove_run(const Api& api, const store::RunKey& key);

// Removes for good what was put into the trash before a time; returns how many runs that were. One
// that is restored meanwhile stays.
Result<std::size_t> empty_trash(const Api& api, std::int64_t before_us);

}  // namespace kedge::server
