// What a job asked for against what it used, and what to ask for next time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/job_config.h"
#include "jobs/task_status.h"

namespace kedge::jobs {

struct Efficiency {
  std::optional<double> cpu = {};     // of the cores that were held
  std::optional<double> memory = {};  // of what was asked for
  std::optional<double> time = {};    // of the limit
};

Efficiency efficiency_of(const Usage& usage);

// "job.memory: 6GB asked for, 1.2GB used at most: job.memory=1.5GB", from tasks that ended well;
// none where what was asked for fits.
std::vector<std::string> suggest_requests(const config::JobConfig& wants,
                                          const std::vector<TaskStatus>& tasks);

}  // namespace kedge::jobs
