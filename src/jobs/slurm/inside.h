// The end of a job, read from what squeue prints.
#pragma once

#include <optional>
#include <string_view>

#include "jobs/internal/time_text.h"

namespace kedge::jobs::slurm {

// `squeue -h -o "%A %e"` with TZ=UTC0. The last task of an array has the array's own id, so that
// asking for it lists all tasks: only the line that begins with the id counts.
std::optional<SystemTime> parse_squeue_end(std::string_view output, std::string_view job_id);

}  // namespace kedge::jobs::slurm
