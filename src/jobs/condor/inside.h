// The end of a job, read from what HTCondor writes into its job ad.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/internal/time_text.h"

namespace kedge::jobs::condor {

// AllowedJobDuration counts from JobCurrentStartDate, AllowedExecuteDuration from
// `executing_since`: the ad is written before the job's program starts, so its
// JobCurrentStartExecutingDate is that of the execution before. The earlier end of the two.
std::optional<SystemTime> parse_job_ad_end(std::string_view ad, SystemTime executing_since);

// When HTCondor started the program of this job: the latest birthday in the _CONDOR_ANCESTOR_<pid>
// variables (<pid>:<Unix seconds>:<number>), one per daemon above it.
std::optional<SystemTime> find_condor_start(const std::map<std::string, std::string>& variables);

}  // namespace kedge::jobs::condor
