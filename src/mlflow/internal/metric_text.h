// A metric's value on the wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::mlflow {

struct MetricPoint {
  std::string_view key;
  double value = 0;
  std::int64_t time_us = 0;
  std::int64_t step = 0;
};

// NaN is the text "NaN"; infinities are the largest numbers there are, as MLflow's store has it.
void append_value(std::string& out, double value);

// {"key", "value", "timestamp", "step" and no closing brace: more may follow.
void append_metric(std::string& out, const MetricPoint& point);

}  // namespace kedge::mlflow
