#include "data/order.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace kedge::data {
namespace {

std::vector<std::int64_t> whole_order(std::int64_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < count; ++i) {
    order.push_back(permuted(count, seed, epoch, i));
  }
  return order;
}

TEST(Order, holds_every_sample_exactly_once) {
  for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 4096, 50000}) {
    for (const std::uint64_t seed : {0ULL, 1ULL, 42ULL, ~0ULL}) {
      std::vector<std::int64_t> order = whole_order(count, seed, 3);
      std::ranges::sort(order);
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(order[static_cast<std::size_t>(i)], i) << "count " << count << " seed " << seed;
      }
    }
  }
}

TEST(Order, is_the_same_when_asked_again_and_differs_by_epoch_and_seed) {
  EXPECT_EQ(whole_order(1000, 7, 0), whole_order(1000, 7, 0));
  EXPECT_NE(whole_order(1000, 7, 0), whole_order(1000, 7, 1));
  EXPECT_NE(whole_order(1000, 7, 0), whole_order(1000, 8, 0));
}

TEST(Order, has_few_samples_in_their_own_place_or_beside_their_neighbour) {
  const std::vector<std::int64_t> order = whole_order(50000, 42, 0);
  std::int64_t fixed = 0;
  std::int64_t neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    fixed += order[i] == static_cast<std::int64_t>(i) ? 1 : 0;
    neighbours += std::abs(order[i] - order[i - 1]) == 1 ? 1 : 0;
  }
  // A random permutation has about 1 fixed point and 2 such neighbours; both are Poisson.
  EXPECT_LT(fixed, 9);
  EXPECT_LT(neighbours, 12);
}

TEST(Order, places_every_sample_everywhere_equally_often) {
  constexpr std::int64_t kCount = 10;
  constexpr std::uint64_t kEpochs = 20000;
  std::vector<std::vector<double>> seen(kCount, std::vector<double>(kCount));
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::int64_t i = 0; i < kCount; ++i) {
      seen[static_cast<std::size_t>(i)][static_cast<std::size_t>(permuted(kCount, 5, epoch, i))] +=
          1;
    }
  }
  constexpr double kExpected = static_cast<double>(kEpochs) / kCount;
  for (const std::vector<double>& row : seen) {
    double chi2 = 0;
    for (const double count : row) {
      chi2 += (count - kExpected) * (count - kExpected) / kExpected;
    }
    EXPECT_LT(chi2, 33.7);  // 9 degrees of freedom, p = 0.0001
  }
}

}  // namespace
}  // namespace kedge::data
