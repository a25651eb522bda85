// What an agent gets to work on next: one answer for the agents of a folder, of a server and of
// W&B's clients. A pure function of the plan and the trials; that no two agents get the same is the
// caller's business (link() in a folder, one lock per sweep on a server).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {

// A trial that has been begun so often takes its agents down with it.
inline constexpr int kAttemptsMax = 50;

struct Offer {
  enum class Kind : std::uint8_t {
    TakeOver,  // trials[index], which nobody works on
    GiveUp,    // trials[index] was begun kAttemptsMax times and never ended: it has failed
    Promote,   // trials[index], which paused and has earned its next rung
    New,       // a trial of its own: `number` and `values`
    None,      // nothing, and why: `end`
  };
  Kind kind = Kind::None;
  std::size_t index = 0;
  std::int64_t number = 0;
  nlohmann::json values = {};
  std::string end = {};
};

// `trials` are all that were handed out, in order. Waiting means free: a caller who learns that
// somebody has a trial sets it to Running and asks again. Usage: as propose().
Result<Offer> next_offer(const SweepPlan& plan, std::span<const Trial> trials);

}  // namespace kedge::search
