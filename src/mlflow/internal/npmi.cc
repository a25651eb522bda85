#include "mlflow/internal/npmi.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::mlflow {

double npmi(const PairCounts& counts, double prior) {
  if (counts.total <= 0 || counts.first == 0 || counts.second == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (counts.both == 0 && prior == 0) {
    return -1;
  }
  if (counts.both == counts.total) {
    return 1;
  }
  const double total = static_cast<double>(counts.total) + 4 * prior;
  const double first = static_cast<double>(counts.first) + 2 * prior;
  const double second = static_cast<double>(counts.second) + 2 * prior;
  const double both = static_cast<double>(counts.both) + prior;
  const double information = std::log(both * total / (first * second));
  return std::clamp(information / -std::log(both / total), -1.0, 1.0);
}

}  // namespace kedge::mlflow
