#include "jobs/time_limit.h"

#include "jobs/internal/time_text.h"

namespace kedge::jobs {

std::optional<TimeLimit> find_time_limit(const JobEnvironment& environment) {
  auto limit = limit_in_variable(environment, "KEDGE_JOB_END");
  return limit ? limit : find_job_end(environment);
}

}  // namespace kedge::jobs
