// Runs a program as if nobody were in between: its stdin is ours, what it prints goes to our stdout
// and stderr byte by byte (through a pseudo-terminal where those are terminals, so that progress
// bars stay), signals sent to us reach it, and its exit code comes back. Besides, each line that it
// prints is told.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "core/result.h"

namespace kedge {

// While it lives, signals wait for supervise() instead of acting on this process. Make it before
// any thread is started: threads inherit it.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals();

  // Whether somebody has asked to stop meanwhile.
  bool has_stop() const;

  const sigset_t& held() const { return held_; }

  const sigset_t& before() const { return before_; }

 private:
  sigset_t held_{};
  sigset_t before_{};
};

struct Program {
  std::vector<std::string> args;  // the program first; looked up in PATH unless it has a slash
  std::vector<std::pair<std::string, std::string>> variables = {};  // added to the environment
  std::function<void(std::string_view line)> on_line = {};
  std::function<void(pid_t child)> on_start = {};
  bool is_passed_on = true;  // what it prints goes to our output; false: to on_line alone
  // Processes that it leaves behind are ended with it, however they detached themselves.
  bool ends_leftovers = false;
  // When it is told to stop (SIGTERM), and how long it then has before SIGKILL.
  std::optional<std::chrono::system_clock::time_point> stop_at = {};
  std::chrono::milliseconds stop_patience = std::chrono::seconds(30);
};

struct ProgramEnd {
  int exit_code = 0;           // 128 + n when signal n ended it
  bool was_stopped = false;    // stop_at came
  bool was_signalled = false;  // somebody sent us SIGTERM, SIGINT or SIGUSR1 and it was told
};

// The exit code, 128 + n when signal n ended it. What the program's own children still print is
// waited for at most a few seconds. Errors: NotFound, or why it cannot be started.
Result<int> supervise(const Program& program, const HeldSignals& signals);

// The same, with how it came to its end.
Result<ProgramEnd> supervise_to_end(const Program& program, const HeldSignals& signals);

}  // namespace kedge
