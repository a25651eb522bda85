// A crash on purpose, for those who want to see a run go on after one (train.simulate_crash).
#pragma once

#include <cstdint>
#include <string_view>

#include "config/interval.h"

namespace kedge::train {

class SimulatedCrash {
 public:
  // Only a run's first attempt crashes. A random epoch is one of 3 to 8, by the run's id.
  SimulatedCrash(const config::Crash& crash, std::string_view run, int attempt);

  std::int64_t epoch() const { return crash_.epoch; }  // 0: at none

  // Ends the process with exit code 1 as the epoch begins; nothing is saved.
  void at_epoch(std::int64_t epoch) const;

  // Kills the process.
  void after_step(std::int64_t step) const;

 private:
  config::Crash crash_;
};

}  // namespace kedge::train
