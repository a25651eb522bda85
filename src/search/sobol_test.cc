#include "search/internal/sobol.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace kedge::search {
namespace {

// scipy.stats.qmc.Sobol(4, scramble=False).random(8).
TEST(Sobol, agrees_with_scipy) {
  constexpr std::array<std::array<double, 4>, 8> kExpected = {{{0, 0, 0, 0},
                                                               {0.5, 0.5, 0.5, 0.5},
                                                               {0.75, 0.25, 0.25, 0.25},
                                                               {0.25, 0.75, 0.75, 0.75},
                                                               {0.375, 0.375, 0.625, 0.875},
                                                               {0.875, 0.875, 0.125, 0.375},
                                                               {0.625, 0.125, 0.875, 0.625},
                                                               {0.125, 0.625, 0.375, 0.125}}};
  for (std::uint32_t i = 0; i < kExpected.size(); ++i) {
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(sobol_bits(i, d) * 0x1.0p-32, kExpected.at(i).at(d)) << i << " " << d;
    }
  }
}

// The same at point 100 of 64 dimensions.
TEST(Sobol, agrees_with_scipy_far_out) {
  EXPECT_EQ(sobol_bits(100, 5) * 0x1.0p-32, 0.7421875);
  EXPECT_EQ(sobol_bits(100, 20) * 0x1.0p-32, 0.7578125);
  EXPECT_EQ(sobol_bits(100, 41) * 0x1.0p-32, 0.6640625);
  EXPECT_EQ(sobol_bits(100, 63) * 0x1.0p-32, 0.6484375);
}

// Each of 64 equal intervals holds one of 64 points, in every dimension and for every scramble.
TEST(Sobol, scrambled_points_are_as_even) {
  for (const std::uint64_t seed : {0U, 7U}) {
    for (std::size_t d = 0; d < sobol_dimensions(); ++d) {
      std::set<int> cells;
      for (std::uint32_t i = 0; i < 64; ++i) {
        const double u = scrambled_sobol(i, d, seed);
        ASSERT_GE(u, 0);
        ASSERT_LT(u, 1);
        cells.insert(static_cast<int>(u * 64));
      }
      EXPECT_EQ(cells.size(), 64) << d;
    }
  }
  EXPECT_NE(scrambled_sobol(0, 0, 1), scrambled_sobol(0, 0, 2));
}

}  // namespace
}  // namespace kedge::search
