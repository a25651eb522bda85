// What MLflow allows as names and how long its texts may be, with the messages its users know.
// Lengths are counted in characters, not bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mlflow/internal/fault.h"

namespace kedge::mlflow {

inline constexpr std::size_t kMaxKey = 250;
inline constexpr std::size_t kMaxParamValue = 6000;
inline constexpr std::size_t kMaxTagValue = 8000;

// A metric's, parameter's or tag's name. `path` stands in messages: "name", "params[0].key".
Outcome<void> check_key(std::string_view key, std::string_view path);

// `what` stands in messages: "Metric name".
Outcome<void> check_length(std::string_view text, std::size_t limit, std::string_view what);

// The first `limit` characters.
std::string cut(std::string_view text, std::size_t limit);

Outcome<void> check_run_id(std::string_view id);
Outcome<void> check_experiment_name(std::string_view name);
Outcome<void> check_model_name(std::string_view name);         // of the registry
Outcome<void> check_logged_model_name(std::string_view name);  // of a run's models
Outcome<void> check_alias(std::string_view alias);

}  // namespace kedge::mlflow
