#include "mlflow/internal/aggregation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "mlflow/internal/python_text.h"

namespace kedge::mlflow {
namespace {

double percentile_of(const std::vector<double>& values, double percentile) {
  const double place = percentile / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - std::floor(place));
}

}  // namespace

std::string Aggregation::label() const {
  switch (kind) {
    case Kind::Count:
      return "COUNT";
    case Kind::Sum:
      return "SUM";
    case Kind::Avg:
      return "AVG";
    case Kind::Min:
      return "MIN";
    case Kind::Max:
      return "MAX";
    case Kind::Percentile:
      break;
  }
  return "P" + python_float(percentile);
}

double aggregate(const Aggregation& aggregation, const std::vector<double>& values) {
  switch (aggregation.kind) {
    case Aggregation::Kind::Count:
      return static_cast<double>(values.size());
    case Aggregation::Kind::Sum:
      return std::accumulate(values.begin(), values.end(), 0.0);
    case Aggregation::Kind::Avg:
      return std::accumulate(values.begin(), values.end(), 0.0) /
             static_cast<double>(values.size());
    case Aggregation::Kind::Min:
      return values.front();
    case Aggregation::Kind::Max:
      return values.back();
    case Aggregation::Kind::Percentile:
      break;
  }
  return percentile_of(values, aggregation.percentile);
}

}  // namespace kedge::mlflow
