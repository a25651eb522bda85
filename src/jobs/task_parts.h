// The tasks of an array in the parts that a scheduler takes at once: Slurm limits the numbers of an
// array's tasks (MaxArraySize, 1001 unless the site says otherwise).
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::jobs {

struct TaskPart {
  std::vector<std::int64_t> tasks = {};  // empty: all of the array
  std::int64_t offset = 0;               // the scheduler counts from here: index = task - offset
};

// `tasks` empty: all `count`. `most` is the number that indices must stay below; 0: any.
std::vector<TaskPart> split_tasks(std::int64_t count, std::vector<std::int64_t> tasks,
                                  std::int64_t most);

}  // namespace kedge::jobs
