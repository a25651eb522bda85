// The same as rank_supervisor.h for several machines: a supervisor on each, one of which (the first
// machine's) decides for all. A lost machine or network ends the round; the machines that are left,
// and those that come back or are added, begin the next one from the last checkpoint. Where the
// first machine is lost and enough others are left, the next one decides.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/result.h"
#include "ranks/rank_place.h"
#include "ranks/rank_supervisor.h"

namespace kedge::ranks {

struct NodeJob {
  RankJob ranks;  // of this machine
  NodePlace place;
  std::int64_t most = 1;   // machines
  std::int64_t least = 1;  // to go on with
  std::chrono::milliseconds init_timeout = std::chrono::minutes(2);
};

// Until the training is over on all machines: its exit code.
Result<int> supervise_node(const NodeJob& job);

}  // namespace kedge::ranks
