#include "jobs/task_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kedge::jobs {

std::vector<TaskPart> split_tasks(std::int64_t count, std::vector<std::int64_t> tasks,
                                  std::int64_t most) {
  const std::int64_t last = tasks.empty() ? count - 1 : *std::ranges::max_element(tasks);
  if (most == 0 || last < most) {
    return {{.tasks = std::move(tasks)}};
  }
  if (tasks.empty()) {
    tasks.resize(static_cast<std::size_t>(count));
    std::iota(tasks.begin(), tasks.end(), 0);
  }
  std::ranges::sort(tasks);
  std::vector<TaskPart> parts;
  for (const std::int64_t task : tasks) {
    if (parts.empty() || task - parts.back().offset >= most) {
      // Numbers that fit as they are stay as they are.
      parts.push_back({.offset = task < most ? 0 : task});
    }
    parts.back().tasks.push_back(task);
  }
  return parts;
}

}  // namespace kedge::jobs
