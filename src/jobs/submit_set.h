// Submitting jobs that wait for each other, all or none.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/dag.h"
#include "jobs/job_book.h"
#include "jobs/launcher.h"

namespace kedge::jobs {

// A step of a DAG with what it runs. `spec.after` is not used: `step.after` names other steps.
struct SetStep {
  DagStep step;
  JobSpec spec;
};

// In the order of the steps, each after all that it waits for. Where one is refused, those that
// were submitted before it are cancelled: half of a DAG is of no use.
Result<std::vector<JobRecord>> submit_set(const JobBook& book, const Launcher& launcher,
                                          const std::vector<SetStep>& steps, const Path& kedge);

// What would be submitted; nothing is written.
Result<std::vector<Rendering>> rehearse_set(const JobBook& book, const Launcher& launcher,
                                            const std::vector<SetStep>& steps, const Path& kedge);

}  // namespace kedge::jobs
