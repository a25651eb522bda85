// The programs of HTCondor, called: condor_submit, condor_q, condor_history, condor_rm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/condor/job_ad.h"
#include "jobs/site.h"

namespace kedge::jobs::condor {

// All errors of a schedd that does not answer are Unavailable.
class Pool {
 public:
  static bool is_here();

  // `condor_submit` in `folder`; the id of the cluster. Errors: Usage with what condor_submit says.
  static Result<std::string> submit(const std::vector<std::string>& command, const Path& folder);

  // `condor_submit_dag`; the id of the DAGMan that runs it.
  static Result<std::string> submit_dag(const Path& folder, const std::string& file);

  // Jobs in the queue for which the expression holds.
  static Result<std::vector<JobAd>> query(const std::string& constraint);

  // Jobs that have left the queue. Slow where a schedd's history is long.
  static Result<std::vector<JobAd>> query_history(const std::string& constraint);

  // How many machines hold, empty, what the expression asks for. Asks the collector.
  static Result<std::int64_t> count_machines(const std::string& constraint);

  // Asks the collector.
  static Result<std::vector<SiteMachine>> list_machines();

  // That nothing fits is no error.
  static Result<void> remove(const std::string& constraint);
};

}  // namespace kedge::jobs::condor
