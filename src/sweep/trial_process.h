// A trial's program, started and watched over: its output goes to a file, and it does not outlive
// its agent.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "core/file.h"
#include "core/result.h"
#include "core/supervise.h"

namespace kedge::sweep {

struct ProcessPlan {
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> variables;
  Path folder;
  Path output;  // appended to
};

class TrialProcess {
 public:
  // `signals` must live as long as the process.
  static Result<TrialProcess> start(const ProcessPlan& plan, const HeldSignals& signals);

  // Waits so long for the end or for a signal to this process. The exit code (128 + n for signal
  // n) once it has ended.
  std::optional<int> wait(std::chrono::milliseconds timeout);

  // Asks it to stop, so that it can save: SIGTERM; and ends it at once: SIGKILL.
  void stop() const;
  void kill() const;

  // Somebody asked this process to stop; the program was told too.
  bool was_interrupted() const { return was_interrupted_; }

 private:
  TrialProcess(pid_t child, const HeldSignals& signals) : child_(child), signals_(&signals) {}

  std::optional<int> reap();

  pid_t child_;
  const HeldSignals* signals_;
  bool was_interrupted_ = false;
};

// Waits so long; true when somebody asked this process to stop meanwhile.
bool wait_for_stop(const HeldSignals& signals, std::chrono::milliseconds timeout);

}  // namespace kedge::sweep
