// A run that is to be gone on with: found, held, and its newest whole checkpoint opened.
#pragma once

#include <optional>
#include <vector>

#include "checkpoint/library.h"
#include "config/load.h"
#include "core/result.h"
#include "core/signals.h"
#include "track/attempt.h"

namespace kedge::train {

struct Resumption {
  track::Attempt attempt;
  checkpoint::Newest newest;                 // without a checkpoint: from the beginning
  std::vector<track::ConfigChange> changes;  // since it was saved
};

struct RunPlan {
  std::optional<Resumption> resumption;       // the run to go on with
  std::optional<checkpoint::Entry> finished;  // its last checkpoint: there is nothing left to do
};

// What the config means (`resume`, run.id); neither: start a new run. Usage errors for `must`
// without a run, and for changes that the saved state does not fit.
Result<RunPlan> plan_run(const config::LoadedConfig& config, const StopSignals& signals);

}  // namespace kedge::train
