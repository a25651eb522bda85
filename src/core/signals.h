// Requests to stop, as schedulers and people send them: SIGTERM, SIGINT, SIGHUP and SIGUSR1 become
// a flag that the program looks at when it is ready to save.
#pragma once

#include <array>
#include <csignal>
#include <optional>
#include <string_view>

namespace kedge {

// Catches the four signals while it lives; one at a time in a process. A signal that was ignored
// before stays ignored (nohup does so with SIGHUP, shells with SIGINT in the background). A second
// SIGINT ends the process at once, by that signal; the others may be repeated, as schedulers do.
// System calls that were interrupted go on by themselves, except waits with a timeout. In a process
// forked from this one the signals have their default effect.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // The first signal that came, or nothing. For any thread.
  std::optional<int> requested() const;

  std::string_view name() const;  // of that signal: "SIGTERM"; empty when none came

 private:
  std::array<struct sigaction, 4> before_{};
};

}  // namespace kedge
