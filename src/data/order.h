// The order of samples in an epoch: a keyed permutation with O(1) random access, so that any rank
// or restart finds the sample at any position without knowing the positions before it.
#pragma once

#include <cstdint>

namespace kedge::data {

// What an epoch's order depends on, and nothing else.
struct OrderKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  bool shuffle = false;
};

// The element at `position` of a permutation of [0, count) chosen by (seed, epoch).
// 0 <= position < count. Part of the format of a run: another answer would give a resumed epoch
// other samples.
std::int64_t permuted(std::int64_t count, std::uint64_t seed, std::uint64_t epoch,
                      std::int64_t position);

}  // namespace kedge::data
