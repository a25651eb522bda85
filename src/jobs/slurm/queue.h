// The jobs that a Slurm controller knows, as squeue prints them: the JSON of 22.05, that of 23.02
// and later (24.11 was seen), and plain columns where there is no JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "jobs/task_status.h"

namespace kedge::jobs::slurm {

struct QueuedJob {
  std::string id;                        // the array's where there is one
  std::vector<std::int64_t> tasks = {};  // several while they wait; empty: no array
  std::string mark = {};                 // in the comment; empty: not one of kedge's
  std::string name = {};
  std::string user = {};
  TaskStatus status = {};
};

// `squeue --json`, which in 22.05 lists everybody's jobs whatever was asked for, and those that
// have ended lately. Errors: Corrupt, also when it lists errors of its own: a controller that is
// away looks like an empty queue.
Result<std::vector<QueuedJob>> parse_queue_json(std::string_view text);

// What to ask squeue for as text, and what it then prints, one line a job.
std::vector<std::string> queue_columns();
std::vector<QueuedJob> parse_queue_text(std::string_view text);

// "PENDING", "CANCELLED by 0", "COMPLETED", ...
TaskState state_of(std::string_view slurm_state);

// "3", "1-4", "0,2-6%2" as array_task_string and squeue's columns have it; a list that Slurm cut
// short ("1,3,5,...") ends where it was cut.
std::vector<std::int64_t> parse_task_list(std::string_view text);

}  // namespace kedge::jobs::slurm
