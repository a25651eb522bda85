// The program that HTCondor starts in a slot: a bash script that unpacks what came along, makes the
// job's surroundings, runs the command, hands SIGTERM on to it and ends with its exit code.
#pragma once

#include <string>

#include "core/result.h"
#include "jobs/condor/sandbox.h"
#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs::condor {

// How often a job saves and exits with 85 when job.checkpoint_every does not say. HTCondor's manual
// proposes an hour: each time, the run folder travels to the submit machine.
inline constexpr double kCheckpointEvery_s = 3600;

double checkpoint_every_s(const JobSpec& spec);

Result<std::string> render_slot_script(const JobSpec& spec, const SubmissionPlace& place);

}  // namespace kedge::jobs::condor
