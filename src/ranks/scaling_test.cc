#include "ranks/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::ranks {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Scaling, speed_up_and_efficiency_are_against_one_rank) {
  const std::vector<ScalePoint> points = {{1, 100, 0}, {4, 300, 0.2}};
  const auto rows = compare_scales(points);
  EXPECT_DOUBLE_EQ(rows[1].speed_up, 3);
  EXPECT_DOUBLE_EQ(rows[1].efficiency, 0.75);
}

// Amdahl's own example: 4 processors and a speed-up of 16/7 mean that 3/4 of the work is parallel.
TEST(Scaling, the_parallel_share_follows_amdahls_law) {
  const auto fraction = parallel_fraction({.point = {.ranks = 4}, .speed_up = 16.0 / 7});
  ASSERT_TRUE(fraction);
  EXPECT_NEAR(*fraction, 0.75, 1e-12);
  EXPECT_FALSE(parallel_fraction({.point = {.ranks = 1}}));
  EXPECT_EQ(parallel_fraction({.point = {.ranks = 2}, .speed_up = 0.5}), 0.0);
}

TEST(Scaling, advises_the_fewest_that_are_about_as_fast) {
  const auto advice = [](std::vector<ScalePoint> points) {
    return advise_ranks(compare_scales(points));
  };
  EXPECT_THAT(advice({{1, 100, 0}, {2, 101, 0}, {4, 90, 0}}), HasSubstr("one rank is as fast"));
  EXPECT_THAT(advice({{1, 100, 0}, {2, 190, 0}, {4, 195, 0}}), HasSubstr("dist.ranks=2"));
  EXPECT_THAT(advice({{1, 100, 0}, {4, 150, 0}}), HasSubstr("only 38% of what it could alone"));
}

TEST(Scaling, advises_one_machine_where_ranks_only_wait_for_each_other) {
  const auto advice = [](std::vector<ScalePoint> points, std::int64_t nodes) {
    return advise_nodes(compare_scales(points), nodes);
  };
  EXPECT_THAT(advice({{1, 100, 0}, {2, 190, 0.4}}, 1), IsEmpty());
  EXPECT_THAT(advice({{1, 100, 0}, {2, 190, 0.05}}, 2), IsEmpty());
  EXPECT_THAT(advice({{1, 100, 0}, {2, 190, 0.4}}, 2), HasSubstr("40% of the time already"));
  EXPECT_THAT(advice({{1, 100, 0}, {2, 190, 0.1}, {4, 150, 0.5}}, 4),
              HasSubstr("more than 2 ranks bring nothing"));
}

}  // namespace
}  // namespace kedge::ranks
