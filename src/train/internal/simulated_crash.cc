#include "train/internal/simulated_crash.h"

#include <csignal>
#include <cstdlib>

#include "core/hash.h"
#include "core/log.h"

namespace kedge::train {

SimulatedCrash::SimulatedCrash(const config::Crash& crash, std::string_view run, int attempt)
    : crash_(attempt == 1 ? crash : config::Crash{}) {
  constexpr std::int64_t kFirst = 3;
  constexpr std::uint64_t kEpochs = 6;
  if (crash_.is_random) {
    crash_.epoch = kFirst + static_cast<std::int64_t>(xxh3_64(as_bytes(run)) % kEpochs);
  }
}

void SimulatedCrash::at_epoch(std::int64_t epoch) const {
  if (crash_.epoch > 0 && epoch == crash_.epoch) {
    say("simulated crash at epoch {}: run the same command again to go on", epoch);
    std::_Exit(1);
  }
}

void SimulatedCrash::after_step(std::int64_t step) const {
  if (crash_.step > 0 && step == crash_.step) {
    std::raise(SIGKILL);
  }
}

}  // namespace kedge::train
