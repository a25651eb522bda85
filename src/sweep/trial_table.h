// Sweeps as tables: a CSV with a row per trial in, and one with the results out.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "search/sweep_plan.h"
#include "sweep/sweep.h"

namespace kedge::sweep {

// The header names the keys, an empty cell is not set. A plan with the method "list".
Result<search::SweepPlan> parse_trial_table(const std::string& csv, const std::string& where);

// The best first, trials without a result last: number, state, the values, the metric, seconds, the
// run's folder and its checkpoints' folder.
Result<void> write_trial_table(const Path& path, const Sweep& sweep,
                               const std::vector<TrialView>& trials);

// The indices of the trials, the best first; those without a result last, in order.
std::vector<std::size_t> rank_trials(const search::Metric& metric,
                                     const std::vector<TrialView>& trials);

// The folder of a trial's run, empty where there is none yet.
Path find_run_path(const Sweep& sweep, const TrialView& view);

}  // namespace kedge::sweep
