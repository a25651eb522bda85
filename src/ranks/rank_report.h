// What the ranks' board tells a person: who hangs and where, who is slow and in what.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ranks/rank_board.h"

namespace kedge::ranks {

// One rank as it was seen at one moment.
struct RankView {
  std::int64_t rank = 0;
  std::string host;
  std::int64_t pid = 0;
  char state = '?';  // as in /proc/PID/stat: R, S, D, T (stopped), Z; X: gone
  std::int64_t silent_ms = 0;
  std::int64_t step = -1;
  RankPhase phase = RankPhase::Starting;
  Collective collective = Collective::None;
  std::int64_t collectives = 0;
  double data_s = 0;
  double collective_s = 0;
  double train_s = 0;                   // of all steps together
  double link_s = 0;                    // for 1 MiB to rank 0 and back; 0: not measured
  std::vector<std::string> stack = {};  // innermost first; empty: not known
};

RankView view_of(const RankSlot& slot, std::int64_t rank);

// The ranks that the others wait for: stopped or gone ones, else those outside of a collective,
// else those that have begun fewest collectives; empty where nothing tells them apart.
std::vector<std::int64_t> find_culprits(std::span<const RankView> views);

// Several lines: who hangs, then a line a rank with its step, phase, last collective and stack.
std::string render_hang(std::span<const RankView> views);

// "rank 2 is slow in compute: 1.8 ms a step, the others 0.9 ms"; empty where nobody is. A slow link
// makes all ranks wait alike in their collectives: it shows only where links were measured.
std::string render_stragglers(std::span<const RankView> views);

}  // namespace kedge::ranks
