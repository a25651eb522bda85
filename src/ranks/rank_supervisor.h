// Starts the ranks of one training on this machine, watches them, says who hangs, and starts all of
// them again when one is lost: they go on from the last checkpoint. It knows processes and the
// ranks' board, nothing of training.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace kedge::ranks {

struct RankJob {
  std::vector<std::string> command;  // the program first, by its path
  std::int64_t ranks = 1;
  std::int64_t restarts = 3;  // in a row without getting further
  std::chrono::milliseconds stall = std::chrono::seconds(20);
  // Arguments to add when the ranks are started again, for the run that they had begun.
  std::function<std::vector<std::string>(const std::string& run_id)> resume_with = {};
  bool share_cores = true;  // sets OMP_NUM_THREADS, unless it is set
};

// Until all ranks have ended. The exit code is that of the rank that failed first, 128 + n for a
// signal; 0 or 85 where all ended so. Signals to stop are passed on to the ranks.
Result<int> supervise_ranks(const RankJob& job);

// Where the supervisor wants stacks written, in a rank.
inline constexpr const char* kStackVariable = "KEDGE_STACK_FD";

// What happened to the attempt before this one, for the run's log.
inline constexpr const char* kIncidentVariable = "KEDGE_INCIDENT";

// In a rank: on SIGUSR2 the stack of the main thread goes to the supervisor. Without one, nothing.
void offer_stacks();

}  // namespace kedge::ranks
