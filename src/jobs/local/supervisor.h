// What runs a local job after the shell that submitted it is gone: one detached process per
// submission that waits for slots, starts the tasks, runs them again, and notes how they are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_book.h"
#include "jobs/launcher.h"
#include "jobs/task_status.h"

namespace kedge::jobs::local {

// local-<submission>.json in the job's folder: the supervisor writes it, others read it.
Path status_file(const Path& folder, std::int64_t submission);

Result<std::vector<TaskStatus>> read_statuses(const Path& folder, std::int64_t submission);

// True while the supervisor of the submission lives, as far as this machine can tell.
bool is_supervised(const Path& folder, std::int64_t submission);

// Runs the submission to its end. Called in a process of its own; `on_ready` once the statuses can
// be read.
Result<void> supervise_submission(const Path& folder, std::int64_t submission,
                                  const std::function<void()>& on_ready);

std::string render_script(const JobSpec& spec, const SubmissionPlace& place);

}  // namespace kedge::jobs::local
