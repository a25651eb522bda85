// Small tasks of an array that share the GPUs of one job: a GPU that one of them would leave idle
// most of the time has room for several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_spec.h"

namespace kedge::jobs {

// An array of `spec.tasks` becomes one of fewer tasks, of which each runs spec.per_gpu of them.
// Usage where that means nothing: no array, no GPU, a program that would begin anew.
Result<JobSpec> share_gpus(JobSpec spec);

struct SharedTasks {
  std::vector<std::string> command;  // {task}, {item} and {dir} are not filled in
  std::int64_t count = 0;            // at the same time
  std::int64_t total = 0;            // of the whole array
};

// Inside such a job: runs its tasks, numbered from $KEDGE_TASK * count, each as `kedge task` with
// its own $KEDGE_TASK, $KEDGE_ITEM and $KEDGE_TASKS, until all have ended; "4| " goes before what
// task 4 prints. Signals reach all of them. 0 when all ended well, 85 when some saved and no one
// failed, else a failed one's code.
Result<int> run_shared(const SharedTasks& tasks, const Path& kedge);

// The exit code for all of them.
int join_exit_codes(const std::vector<int>& codes);

}  // namespace kedge::jobs
