// How a job of the book stands, from what the schedd says of it (live, but gone once it has left
// the queue) and what its user log says (for ever, and when nobody answers).
#pragma once

#include <optional>

#include "jobs/condor/job_ad.h"
#include "jobs/condor/user_log.h"
#include "jobs/task_status.h"

namespace kedge::jobs::condor {

// Of one task; either may be missing. `submitted` says whether the log has the job's first event:
// without it and without an ad nobody knows the job, and there is no status.
std::optional<TaskStatus> status_of(const JobStory& story, const std::optional<JobAd>& ad);

}  // namespace kedge::jobs::condor
