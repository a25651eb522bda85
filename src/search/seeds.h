// Seeds as an axis: trials that differ only in their seed are one setting, measured several times.
// Means with their intervals, comparisons that allow for how many are made, and how many more seeds
// would tell two settings apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "search/importance.h"
#include "search/sweep_plan.h"
#include "search/trial.h"

namespace kedge::search {

struct Setting {
  nlohmann::json values;                                // without the seed
  std::vector<std::pair<std::string, double>> results;  // by seed, sorted
  Estimate mean;                                        // with Student's 95% interval
  double deviation = 0;                                 // of single results
};

// Two settings compared.
struct Comparison {
  std::size_t better = 0;  // indices of settings
  std::size_t worse = 0;
  bool is_paired = false;   // by the seeds that both have
  Estimate difference;      // better minus worse, with its 95% interval before correction
  double p = 1;             // two-sided, Holm's correction over all comparisons made
  bool is_settled = false;  // p below 0.05
  // How many more seeds each would settle it, if difference and spread stay as they are, with a
  // chance of four in five; nothing: more than a thousand, or settled.
  std::optional<std::int64_t> more_seeds = {};
};

struct SeedReport {
  std::vector<Setting> settings;        // the best mean first
  std::vector<Comparison> comparisons;  // the best against each other one
};

// `seed_key` is the dotted name of the seed among the values. NotFound: no trial has it.
Result<SeedReport> compare_seeds(const Metric& metric, std::span<const Trial> trials,
                                 const std::string& seed_key);

// Student's interval of the mean; of fewer than two values, all numbers.
Estimate mean_interval(std::span<const double> values);

// Holm's step-down correction, in the order given.
std::vector<double> correct_holm(const std::vector<double>& p);

}  // namespace kedge::search
