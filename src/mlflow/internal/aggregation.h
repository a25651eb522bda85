// One number out of many: what a question over traces asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kedge::mlflow {

struct Aggregation {
  enum class Kind : std::uint8_t { Count = 1, Sum, Avg, Percentile, Min, Max };  // MLflow's numbers
  Kind kind = Kind::Count;
  double percentile = 0;  // of Percentile: 0 to 100

  std::string label() const;  // "COUNT", "P99.0"
};

// `values` are sorted, and there is one at least. Percentiles lie on the line between the two
// nearest values, as numpy's do.
double aggregate(const Aggregation& aggregation, const std::vector<double>& values);

}  // namespace kedge::mlflow
