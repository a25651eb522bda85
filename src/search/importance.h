// Which parameters matter: three answers, each with how sure it is. Pure functions of trials.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "search/space.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {

// A number with the ends of its 95% interval.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct Importance {
  std::string name;
  // Pearson's, between the parameter (on the scale of its distribution; numbers to choose from as
  // they are) and the metric, with Fisher's interval; of other choices, the correlation ratio,
  // which has no sign.
  Estimate correlation;
  bool has_sign = true;
  // How much worse a random forest predicts the metric of trials it has not seen when the
  // parameter's values are shuffled, as a fraction of all parameters' together; from the trees'
  // spread.
  Estimate permutation;
  // The fraction of the metric's variance over the space that the parameter explains by itself
  // (fANOVA, Hutter et al. 2014, of the whole forest), from the spread of groups of trees.
  Estimate variance_fraction;
};

struct ImportanceReport {
  std::vector<Importance> parameters;  // the largest variance fraction first
  std::int64_t trials = 0;             // that it was worked out from
  double explained = 0;                // R^2 of the forest on trials that each tree has not seen
};

// The space that trials of a table span: numbers between their ends, everything else as choices. A
// key that some trials lack is left out.
Space space_of(std::span<const Trial> trials);

// Usage: fewer than 4 finished trials with a result, or no parameter that varies.
Result<ImportanceReport> find_importance(const SweepPlan& plan, std::span<const Trial> trials);

}  // namespace kedge::search
