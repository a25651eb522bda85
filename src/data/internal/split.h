// Which samples are held out and which are kept: seeded choices that keep the class balance.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace kedge::data {

struct SplitOptions {
  std::uint64_t seed = 0;
  bool stratify = true;
};

struct Split {
  std::vector<std::int64_t> kept;  // both in ascending order; together every sample once
  std::vector<std::int64_t> held_out;
};

// Holds out `count` samples. With stratify each class gives its share, by largest remainder, so
// the counts add up exactly.
Split hold_out(const Dataset& dataset, std::int64_t count, const SplitOptions& options);

// A share of the samples, at least one of every class that has any.
std::vector<std::int64_t> choose_fraction(const Dataset& dataset, double ratio,
                                          const SplitOptions& options);

// Splits `total` in proportion to `sizes` (largest remainder; ties to the first), never more than
// a size. total <= sum of sizes.
std::vector<std::int64_t> apportion(std::int64_t total, const std::vector<std::int64_t>& sizes);

}  // namespace kedge::data
