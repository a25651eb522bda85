// Job ads, as `condor_q -json` and `condor_history -json` print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "jobs/condor/job_id.h"

namespace kedge::jobs::condor {

// HTCondor's own numbers.
enum class JobStatus : int {
  Idle = 1,
  Running = 2,
  Removed = 3,
  Completed = 4,
  Held = 5,
  TransferringOutput = 6,
  Suspended = 7,
};

struct JobAd {
  JobId id;
  JobStatus status = JobStatus::Idle;
  std::string mark = {};  // the attribute KedgeMark
  std::optional<int> exit_code = {};
  std::optional<int> exit_signal = {};
  std::string reason = {};  // why it is held or was removed
  int hold_code = 0;
  std::string host = {};
  std::int64_t queued_s = 0;  // Unix seconds; 0: not yet
  std::int64_t started_s = 0;
  std::int64_t ended_s = 0;
  std::int64_t starts = 0;
  double wall_s = 0;  // of all starts
  double cpu_s = 0;
  std::int64_t cpus = 0;
  std::int64_t gpus = 0;
  std::int64_t memory_request_mb = 0;  // 0: not a number in the ad
  std::int64_t disk_request_kb = 0;
  std::int64_t memory_used_kb = 0;  // 0: not measured
  std::int64_t disk_used_kb = 0;
};

// The attributes that a JobAd is made of, for `-attributes`.
std::string job_ad_attributes();

// No text at all is no job: that is how both programs say so. Several schedds give several arrays.
// Errors: Corrupt.
Result<std::vector<JobAd>> parse_job_ads(std::string_view text);

}  // namespace kedge::jobs::condor
