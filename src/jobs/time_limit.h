// When the scheduler will end this job, as far as it tells, or a launcher of ours.
#pragma once

#include <optional>

#include "core/inside_job.h"
#include "core/time_limit.h"

namespace kedge::jobs {

// KEDGE_JOB_END (Unix seconds), which the launcher sets, else what the schedulers say. Nothing
// where there is no limit or it cannot be learnt; a scheduler that does not answer is waited for at
// most environment.patience and warned about.
std::optional<TimeLimit> find_time_limit(
    const JobEnvironment& environment = JobEnvironment::of_this_process());

}  // namespace kedge::jobs
