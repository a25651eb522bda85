// Writes the points of a run to the database: as a row of the journal, or, when that has grown,
// all of them as chunks. Part of the flush before a COMMIT; what readers see changes afterwards.
#pragma once

#include "core/result.h"
#include "store/internal/database.h"
#include "store/internal/live_run.h"

namespace kedge::store {

inline constexpr std::size_t kChunkPoints = 4096;

Result<void> write_points(Database& database, LiveRun& run);

// After the COMMIT: what write_points() wrote is what readers see. Holds run.mutex.
void publish_points(LiveRun& run);

// Reads series, journal, sources and console length of a run as they are committed.
Result<void> load_points(Database& database, LiveRun& run, const std::vector<Beginning>& beginnings,
                         KeyTable& keys);

}  // namespace kedge::store
