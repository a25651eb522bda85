// Early termination: whether a running trial is worth going on with, from what all trials have
// reported so far. Pure functions; who acts on them is not this room's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {

enum class Verdict : std::uint8_t {
  GoOn,
  Stop,
  Pause,  // save and stop; find_promotions() may name it later
};

struct Judgement {
  Verdict verdict = Verdict::GoOn;
  std::string reason = {};  // "0.91 after 9 reports is not among the best third of 12"
};

// The brackets up to `reports`, ascending. Hyperband's are those of W&B: with max_iter 27, s 2 and
// eta 3 they are 3 and 9; with min_iter 3 they are 3, 9, 27, ...
std::vector<std::int64_t> find_brackets(const EarlyTerminate& rule, std::int64_t reports);

// What to do with the running trial trials[index].
Judgement judge(const SweepPlan& plan, std::span<const Trial> trials, std::size_t index);

// Paused trials that have earned the next bracket, the most advanced and best first. An agent takes
// one of these before it asks for a new trial.
std::vector<std::size_t> find_promotions(const SweepPlan& plan, std::span<const Trial> trials);

// The running trials to stop now, for those who watch all trials at once.
std::vector<std::size_t> find_stops(const SweepPlan& plan, std::span<const Trial> trials);

}  // namespace kedge::search
