// The rows of a run's history as clients read them. A run whose client sent rows has them as they
// came; of any other they are put together from its curves, a row for each step.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {

struct StepRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();  // both included
};

// JSON objects as text, in the order of their steps.
Result<std::vector<std::string>> read_history(const RunNode& run, const StepRange& range = {});
Result<std::vector<std::string>> read_events(const RunNode& run);

Result<std::uint64_t> count_history(const RunNode& run);
Result<std::vector<std::string>> read_last_row(const RunNode& run);

// About `count` of them, evenly, the first and the last included; 0: none are left out.
std::vector<std::string> sample(std::vector<std::string> rows, std::size_t count);

// Those rows that have all of a spec's keys, and of them only these:
// {"keys": ["_step", "loss"], "samples": 500, "minStep": 0, "maxStep": 999}.
Result<nlohmann::json> read_sampled(const RunNode& run, const nlohmann::json& spec);

// {"lastStep", "sets", "keys": {"loss": {"typeCounts", "monotonic", "previousValue"}}}.
Result<nlohmann::json> describe_keys(const RunNode& run);

}  // namespace kedge::wandb
