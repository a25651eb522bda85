// What `kedge task` does inside a job, around its program: fills in the task's words, tells the
// program its rank, puts time and host before each line, keeps secrets out of them, stops a
// resumable program before the time limit, and lets nothing survive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/supervise.h"
#include "core/units.h"

namespace kedge::jobs {

struct TaskRun {
  std::vector<std::string> command;
  bool is_stamped = false;
  bool is_resumable = false;  // stopped at a limit or by a signal it asks to be run again: 85
  Seconds grace = {0};        // before the scheduler's limit; 0: two minutes
  Seconds limit = {0};        // of our own, from now; 0: none
  std::int64_t share = 0;     // so many tasks of an array in this one (task_share.h); 0: one
  std::int64_t total = 0;     // tasks of that array
};

using Variables = std::map<std::string, std::string>;

// {item}, {task} and {dir} in `words`, from $KEDGE_ITEM, $KEDGE_TASK and $KEDGE_JOB_DIR.
std::vector<std::string> fill_in(std::vector<std::string> words, const Variables& variables);

// RANK, WORLD_SIZE, LOCAL_RANK, ... as torchrun names them, of a scheduler's step; none where there
// is a single process or somebody has set them.
std::vector<std::pair<std::string, std::string>> rank_variables(const Variables& variables);

// "2026-11-15T17:45:01.123Z n1:3 text"; the rank only where there are several.
std::string stamp_line(std::int64_t now_ms, std::string_view host, std::string_view line);

// The exit code of the job's program. What a time limit ended is 85 when it is resumable, else 124.
Result<int> run_task(const TaskRun& task, const HeldSignals& signals);

}  // namespace kedge::jobs
