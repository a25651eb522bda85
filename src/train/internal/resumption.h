// A run that is to be gone on with: found, held, and the newest state of it opened, in memory or on
// the disk.
#pragma once

#include <optional>
#include <vector>

#include "checkpoint/library.h"
#include "config/load.h"
#include "core/result.h"
#include "core/signals.h"
#include "dist/process_group.h"
#include "track/attempt.h"
#include "train/internal/replicas.h"

namespace kedge::train {

struct Resumption {
  track::Attempt attempt;
  SavedPlace on_disk;                        // of the newest checkpoint there, as it is listed
  checkpoint::Newest newest;                 // without a checkpoint: from the beginning
  std::vector<track::ConfigChange> changes;  // since it was saved
};

struct RunPlan {
  std::optional<Resumption> resumption;       // the run to go on with
  std::optional<checkpoint::Entry> finished;  // its last checkpoint: there is nothing left to do
};

// What the config means (`resume`, run.id); neither: start a new run. Usage errors for `must`
// without a run. Nothing is opened yet.
Result<RunPlan> plan_run(const config::LoadedConfig& config, const StopSignals& signals);

// A collective: opens the newest state of the run that rank 0 plans to go on with. Usage errors for
// changes of the config that it does not fit.
Result<void> open_saved(const config::LoadedConfig& config, dist::ProcessGroup& group,
                        RunPlan& plan);

}  // namespace kedge::train
