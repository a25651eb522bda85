// A task's script as a process: in a session of its own, its output appended to a file, ended with
// its supervisor.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "core/file.h"
#include "core/result.h"

namespace kedge::jobs::local {

struct TaskProcessPlan {
  Path script;
  Path folder;
  Path output;  // appended to
  std::vector<std::pair<std::string, std::string>> variables;
};

struct TaskProcessEnd {
  int exit_code = 0;  // 128 + n when signal n ended it
  double cpu_s = 0;
  std::uint64_t memory_bytes = 0;  // of its largest process
};

class TaskProcess {
 public:
  static Result<TaskProcess> start(const TaskProcessPlan& plan);

  // Nothing while it runs.
  std::optional<TaskProcessEnd> find_end() const;

  // To all of its session that has not gone elsewhere.
  void signal(int number) const;

 private:
  explicit TaskProcess(pid_t child) : child_(child) {}

  pid_t child_;
};

// Waits so long, less when a child ends. SIGCHLD must be blocked.
void wait_for_child(std::chrono::milliseconds timeout);

}  // namespace kedge::jobs::local
