// When the scheduler will end this job, as far as it tells: Slurm, HTCondor, or a launcher of ours.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "core/time_limit.h"

namespace kedge::jobs {

// What a job sees of its scheduler; replaced in tests.
struct JobEnvironment {
  std::map<std::string, std::string> variables;
  std::chrono::system_clock::time_point process_start;
  std::string squeue = "squeue";
  std::chrono::milliseconds squeue_timeout = std::chrono::seconds(5);

  static JobEnvironment of_this_process();
};

// The first that is known of: KEDGE_JOB_END and SLURM_JOB_END_TIME (Unix seconds), squeue where
// there is a SLURM_JOB_ID, the job ad of HTCondor. Nothing where there is no limit or it cannot be
// learnt; a scheduler that does not answer is waited for at most squeue_timeout and warned about.
std::optional<TimeLimit> find_time_limit(
    const JobEnvironment& environment = JobEnvironment::of_this_process());

}  // namespace kedge::jobs
