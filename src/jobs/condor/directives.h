// job.directives among the lines that kedge writes into a submit file itself: what a person writes
// must not override in silence what the job depends on.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "jobs/condor/submit_file.h"

namespace kedge::jobs::condor {

// Adds the user's lines to a file that is complete without them: `requirements` to ours, the others
// as they are. Usage for one that the file has already, or that would make another job of it; the
// error names the key to use instead.
Result<void> add_directives(SubmitFile& file, const std::vector<std::string>& given);

}  // namespace kedge::jobs::condor
