// What a job takes along, made in its folder before it is submitted: inputs.tar with all small
// files (a transfer has a cost per file), and the archive with kedge and libtorch.
#pragma once

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs::condor {

// `kedge` is this program. What an earlier try brought home is taken along again, so that it goes
// on from there. Errors: Usage for missing inputs, Io, Unavailable when tar fails.
Result<void> pack_job(const JobSpec& spec, const Path& folder, const Path& kedge);

}  // namespace kedge::jobs::condor
