// What the verbs about jobs share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/shared/arguments.h"
#include "core/result.h"
#include "jobs/job_book.h"
#include "jobs/submit.h"

namespace kedge::cli {

inline constexpr Flag kBookFlag{"--book", "DIR", "the folder of jobs ($KEDGE_JOBS, or jobs)"};

jobs::JobBook open_book(const Arguments& arguments);

// "k7f3q2", or "k7f3q2.3" for a task of it: the job and the tasks, none for all.
struct NamedJob {
  jobs::JobRecord record;
  std::vector<std::int64_t> tasks;
};

Result<std::vector<NamedJob>> find_jobs(const jobs::JobBook& book,
                                        const std::vector<std::string>& words);

}  // namespace kedge::cli
