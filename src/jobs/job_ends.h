// What a job notes of itself in its folder, so that how it ended is known where the scheduler
// forgets (Slurm without accounting does after minutes). ends/<task> gets a line at each start and
// each end:
//   start <submission> <Unix seconds> <host> <scheduler's id>
//   end <submission> <Unix seconds> <exit code>
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "jobs/job_book.h"
#include "jobs/task_status.h"

namespace kedge::jobs {

// Of one submission; nothing when it never started. State Running stands for "started and said no
// more": the scheduler knows better.
std::optional<TaskStatus> parse_job_ends(std::string_view text, std::int64_t submission);

std::optional<TaskStatus> read_job_ends(const Path& folder, std::int64_t task,
                                        std::int64_t submission);

// The scheduler's ids under which a submission's task has started, in order: a chain has several.
// Those of an array's tasks without the task: "12" for "12_3".
std::vector<std::string> read_job_ids(const Path& folder, std::int64_t task,
                                      std::int64_t submission);

// All tasks of a job: as the launcher saw them, as the book remembers their end, as the job noted
// it, or Lost. `is_asked` is false when the scheduler did not answer: then nothing is Lost.
std::vector<TaskStatus> complete_statuses(const JobRecord& record, std::vector<TaskStatus> seen,
                                          bool is_asked);

}  // namespace kedge::jobs
