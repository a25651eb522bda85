// Which run is meant: the one named, or the newest unfinished one with the same config.
#pragma once

#include <optional>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"

namespace kedge::track {

struct RunQuery {
  Path dir = "runs";
  std::string project = "default";
  std::string id;           // given: this run, finished or not, held or not
  std::string config_hash;  // else: the newest unfinished run with this hash that nobody holds
};

// The run's folder, or nothing. Folders without a readable run.json are skipped with a warning.
// Waits (see TakeOptions) where a holder on another machine may have died a moment ago.
Result<std::optional<Path>> find_run(const RunQuery& query, const TakeOptions& options = {});

}  // namespace kedge::track
