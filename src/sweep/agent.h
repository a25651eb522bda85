// An agent works on a sweep: takes a trial, runs it, says how it ended, takes the next. Any number
// of them may, anywhere the folder or the server is seen; none has to stay alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "core/supervise.h"
#include "sweep/sweep.h"

namespace kedge::sweep {

struct AgentOptions {
  std::optional<std::int64_t> count = {};  // trials at most; nothing: until there are no more
  bool waits = false;                      // stay while others still work, in case they die
  bool any_code = false;  // run although the program has changed since the sweep was made
  Path kedge;             // this program
  std::chrono::milliseconds look_every = std::chrono::seconds(2);
  std::chrono::milliseconds patience = std::chrono::seconds(60);  // for a program that was stopped
  std::chrono::milliseconds away_max = std::chrono::hours(1);     // a server, or room on a disk
  std::function<void(std::string_view line)> say = {};
};

struct AgentReport {
  std::int64_t trials = 0;  // that this agent brought to an end
  std::int64_t failed = 0;
  std::string end;               // why it stopped
  bool was_interrupted = false;  // somebody asked it to stop; what it worked on is open again
};

Result<AgentReport> run_agent(Sweep& sweep, const AgentOptions& options,
                              const HeldSignals& signals);

// So many trials that failed at once and alike end a sweep in which nothing has finished.
inline constexpr std::int64_t kEqualFailuresMax = 3;

// The median time of a finished trial; nothing: none has finished.
std::optional<double> median_seconds(const std::vector<TrialView>& trials);

}  // namespace kedge::sweep
