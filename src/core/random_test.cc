#include "core/random.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace kedge {
namespace {

// The first outputs of the published SplitMix64 with seed 0.
TEST(Random, is_splitmix64) {
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(mix64(0x9E3779B97F4A7C15U), 0x6e789e6aa1b965f4U);
}

TEST(Random, the_same_key_gives_the_same_numbers) {
  Random a({1, 2, 3});
  Random b({1, 2, 3});
  Random c({1, 3, 2});
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(Random, below_reaches_every_value_about_equally_often) {
  Random random(42);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100000; ++i) {
    ++counts.at(random.below(10));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10000, 500);  // five standard deviations
  }
}

TEST(Random, uniform_stays_in_its_range) {
  Random random(7);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.uniform(-1, 3);
    EXPECT_GE(x, -1);
    EXPECT_LT(x, 3);
    sum += x;
  }
  EXPECT_NEAR(sum / 100000, 1, 0.02);
}

}  // namespace
}  // namespace kedge
