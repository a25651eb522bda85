#include "train/internal/save_interval.h"

#include <algorithm>
#include <cmath>

namespace kedge::train {
namespace {

constexpr double kDay_s = 86400;

// A save more often than this only wears the disk; one less often than this surprises people.
constexpr double kShortest_s = 15;
constexpr double kLongest_s = 3600;

}  // namespace

FailureRate observed_failures(const std::vector<track::AttemptFacts>& attempts) {
  double seconds = kDay_s;
  int failures = 0;
  for (const track::AttemptFacts& attempt : attempts) {
    seconds += attempt.seconds;
    failures += attempt.state == "killed" || attempt.state == "failed" ? 1 : 0;
  }
  return {.mean_s = seconds / (failures + 1), .failures = failures};
}

SaveInterval choose_interval(double cost_s, double mean_failure_s) {
  const double young = std::sqrt(2 * cost_s * mean_failure_s);
  const double seconds = std::clamp(young, kShortest_s, kLongest_s);
  return {.seconds = seconds, .loss = cost_s / seconds + seconds / (2 * mean_failure_s)};
}

}  // namespace kedge::train
