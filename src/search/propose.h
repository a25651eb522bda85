// The next trials of a sweep: a pure function of the plan, the seed in it and the trials so far.
// Whoever asks with the same history gets the same answer, and no values come twice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {

struct Proposals {
  std::vector<nlohmann::json> values;  // at most as many as asked for
  // Why there were fewer: "all 12 points are handed out"; empty: there were not fewer.
  std::string end;

  bool is_end() const { return !end.empty(); }
};

// `trials` holds every trial that was handed out, in any order and any state. Usage: the method is
// not known, is "custom", or does not fit the space (a grid over a continuous parameter).
Result<Proposals> propose(const SweepPlan& plan, std::span<const Trial> trials, std::int64_t count);

// Whether the method and the space fit: what propose() would refuse at any time.
Result<void> check_plan(const SweepPlan& plan);

// Text that is the same for the same values: numbers that are equal are written alike, and the
// order of keys does not matter.
std::string identity_of(const nlohmann::json& values);

}  // namespace kedge::search
