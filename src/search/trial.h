// A Trial is one point of a sweep that was handed out, as far as it is known: what samplers, early
// termination and importance work from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace kedge::search {

enum class TrialState : std::uint8_t {
  Waiting,  // handed out before, and nobody works on it now
  Running,
  Paused,  // stopped at a rung; goes on when it is promoted
  Finished,
  Stopped,  // ended early by a rule
  Failed,
};

struct Trial {
  std::int64_t number = 0;  // the order of handing out, from 1
  nlohmann::json values;    // as Space::values_at() made them, or given by a user
  TrialState state = TrialState::Waiting;
  int attempts = 0;                   // how often it was begun
  std::optional<double> metric = {};  // the result; of a trial stopped early, the last value
  // The metric as it was reported, one value per report; for early termination.
  std::vector<double> curve = {};
};

}  // namespace kedge::search
