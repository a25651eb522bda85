// The end of a job, read from what Slurm and HTCondor print.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kedge::jobs {

using SystemTime = std::chrono::system_clock::time_point;

// Decimal digits alone, later than 0.
std::optional<std::int64_t> parse_seconds(std::string_view text);

// "2026-11-15T10:00:00", in UTC.
std::optional<SystemTime> parse_utc(std::string_view text);

// `squeue -h -o "%A %e"` with TZ=UTC0. The last task of an array has the array's own id, so that
// asking for it lists all tasks: only the line that begins with the id counts.
std::optional<SystemTime> parse_squeue_end(std::string_view output, std::string_view job_id);

// AllowedJobDuration counts from JobCurrentStartDate, AllowedExecuteDuration from
// `executing_since`: the ad is written before the job's program starts, so its
// JobCurrentStartExecutingDate is that of the execution before. The earlier end of the two.
std::optional<SystemTime> parse_job_ad_end(std::string_view ad, SystemTime executing_since);

// When HTCondor started the program of this job: the latest birthday in the _CONDOR_ANCESTOR_<pid>
// variables (<pid>:<Unix seconds>:<number>), one per daemon above it.
std::optional<SystemTime> find_condor_start(const std::map<std::string, std::string>& variables);

}  // namespace kedge::jobs
