// How often to save when the config leaves it open: Young's interval, which balances the time that
// saves cost against the work that a failure loses.
#pragma once

#include <vector>

#include "track/attempt.h"

namespace kedge::train {

struct FailureRate {
  double mean_s = 0;  // expected time between failures
  int failures = 0;   // seen so far
};

// From a run's earlier attempts: those that ended without saving. Nobody knows a cluster after one
// night, so a failure a day is assumed until more is seen.
FailureRate observed_failures(const std::vector<track::AttemptFacts>& attempts);

struct SaveInterval {
  double seconds = 0;
  double loss = 0;  // expected share of the time that saves and repeated work take
};

// `cost_s`: what one save takes away from training.
SaveInterval choose_interval(double cost_s, double mean_failure_s);

}  // namespace kedge::train
