// How much more often two things are seen together than chance would have it: normalized pointwise
// mutual information (Bouma 2009), from -1 (never together) over 0 (chance) to 1 (always).
#pragma once

#include <cstdint>

namespace kedge::mlflow {

struct PairCounts {
  std::int64_t total = 0;
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::int64_t both = 0;
};

// NaN where one of the two was never seen. `prior` is added to each of the four cells; 0.5 is
// Jeffreys' and keeps small counts from saying too much.
double npmi(const PairCounts& counts, double prior = 0);

}  // namespace kedge::mlflow
