#include "store/downsample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "store/chunk.h"

namespace kedge::store {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

MATCHER_P2(PointAt, x, y, "") {
  return arg.x == x && (std::isnan(static_cast<double>(y)) ? std::isnan(arg.y) : arg.y == y);
}

using testing::ElementsAre;

TEST(downsample, few_points_come_back_as_they_are) {
  Downsampler sampler(0, 10, 3);
  for (const double x : {1.0, 2.0, 2.0, 7.0, 9.5, 10.0}) {
    sampler.add(x, x * x);
  }
  const Chart chart = sampler.finish();
  EXPECT_FALSE(chart.is_sampled);
  EXPECT_EQ(chart.count, 6U);
  EXPECT_THAT(chart.points, ElementsAre(PointAt(1, 1), PointAt(2, 4), PointAt(2, 4), PointAt(7, 49),
                                        PointAt(9.5, 90.25), PointAt(10, 100)));
}

TEST(downsample, each_bucket_shows_its_least_and_greatest_in_order) {
  // Buckets [0, 5) and [5, 10]; by hand: the first has 9 at 1 and -1 at 3, the second 2 at 6 and 8
  // at 8, and 0 and 9 are the ends.
  Downsampler sampler(0, 9, 2);
  const std::vector<double> values = {4, 9, 5, -1, 0, 3, 2, 3, 8, 4};
  for (std::size_t x = 0; x < values.size(); ++x) {
    sampler.add(static_cast<double>(x), values[x]);
  }
  const Chart chart = sampler.finish();
  EXPECT_TRUE(chart.is_sampled);
  EXPECT_EQ(chart.count, 10U);
  EXPECT_THAT(chart.points, ElementsAre(PointAt(0, 4), PointAt(1, 9), PointAt(3, -1), PointAt(6, 2),
                                        PointAt(8, 8), PointAt(9, 4)));
}

TEST(downsample, points_outside_the_range_are_passed_over) {
  Downsampler sampler(10, 20, 1);
  for (const double x : {9.0, 10.0, 15.0, 20.0, 20.5, kNaN, kInfinity, -kInfinity}) {
    sampler.add(x, 1);
  }
  EXPECT_EQ(sampler.finish().count, 3U);
}

TEST(downsample, a_stretch_of_nan_is_one_point) {
  Downsampler sampler(0, 100, 5);
  for (int x = 0; x <= 100; ++x) {
    sampler.add(x, x >= 30 && x < 70 ? kNaN : 1.0);
  }
  const Chart chart = sampler.finish();
  const auto is_nan = [](const ChartPoint& point) { return std::isnan(point.y); };
  EXPECT_EQ(std::ranges::count_if(chart.points, is_nan), 1);
  EXPECT_EQ(std::ranges::find_if(chart.points, is_nan)->x, 30);
  EXPECT_THAT(chart.points.back(), PointAt(100, 1));
}

TEST(downsample, only_nan_is_one_nan) {
  Downsampler sampler(0, 100, 5);
  for (int x = 0; x <= 100; ++x) {
    sampler.add(x, kNaN);
  }
  EXPECT_THAT(sampler.finish().points, ElementsAre(PointAt(0, kNaN)));
}

TEST(downsample, infinities_are_extremes) {
  Downsampler sampler(0, 9, 1);
  for (int x = 0; x < 10; ++x) {
    sampler.add(x, x == 4 ? kInfinity : x == 7 ? -kInfinity : x);
  }
  EXPECT_THAT(sampler.finish().points, ElementsAre(PointAt(0, 0), PointAt(4, kInfinity),
                                                   PointAt(7, -kInfinity), PointAt(9, 9)));
}

TEST(downsample, one_x_is_one_bucket) {
  Downsampler sampler(5, 5, 4);
  for (int i = 0; i < 20; ++i) {
    sampler.add(5, i == 3 ? -1 : i);
  }
  EXPECT_THAT(sampler.finish().points, ElementsAre(PointAt(5, 0), PointAt(5, -1), PointAt(5, 19)));
}

TEST(downsample, nothing_fed_is_nothing_shown) {
  EXPECT_TRUE(Downsampler(0, 1, 10).finish().points.empty());
}

TEST(downsample, the_widest_range_has_buckets) {
  const double most = std::numeric_limits<double>::max();
  Downsampler sampler(-most, most, 2);
  EXPECT_TRUE(sampler.is_in_one_bucket(-most, -most / 2));
  EXPECT_FALSE(sampler.is_in_one_bucket(-most, most));
  for (const double x : {-most, -1.0, 1.0, most / 2, most}) {
    sampler.add(x, 1);
  }
  EXPECT_THAT(sampler.finish().points.front(), PointAt(-most, 1));
}

TEST(downsample, disorder_ends_in_order_of_x) {
  Random random(3);
  Downsampler sampler(0, 1, 50);
  double least = 2;
  for (int i = 0; i < 10000; ++i) {
    const double x = random.uniform();
    least = std::min(least, x);
    sampler.add(x, random.uniform());
  }
  const Chart chart = sampler.finish();
  EXPECT_TRUE(std::ranges::is_sorted(chart.points, {}, &ChartPoint::x));
  EXPECT_EQ(chart.points.front().x, least);
  EXPECT_LE(chart.points.size(), 102U);
}

ChartRange range_of(const PointsSketch& sketch) {
  const auto at = [](const Point& point) {
    return ChartPoint{static_cast<double>(point.step), point.value};
  };
  return {sketch.count,
          sketch.nan_count,
          at(sketch.first),
          at(sketch.last),
          at(sketch.min),
          at(sketch.max),
          static_cast<double>(sketch.nan.step)};
}

// The oracle: every point, one by one.
TEST(downsample, sketches_show_what_their_points_would) {
  Random random(11);
  constexpr int kCount = 40960;
  Points all;
  for (int i = 0; i < kCount; ++i) {
    all.add({i, 0, random.below(500) == 0 ? kNaN : random.uniform()});
  }
  Downsampler by_points(0, kCount - 1, 20);
  Downsampler by_sketches(0, kCount - 1, 20);
  int fed_whole = 0;
  for (int start = 0; start < kCount; start += 4096) {
    Points chunk;
    for (int i = start; i < start + 4096; ++i) {
      chunk.add(all.at(static_cast<std::size_t>(i)));
      by_points.add(i, chunk.values.back());
    }
    std::size_t at = 0;
    for (const PointsSketch& sketch : sketch_of(chunk).ranges) {
      const ChartRange range = range_of(sketch);
      if (by_sketches.is_in_one_bucket(range.first.x, range.last.x)) {
        by_sketches.add(range);
        ++fed_whole;
      } else {
        for (std::size_t i = at; i < at + sketch.count; ++i) {
          by_sketches.add(static_cast<double>(chunk.steps[i]), chunk.values[i]);
        }
      }
      at += sketch.count;
    }
  }
  EXPECT_GT(fed_whole, 100);
  const Chart expected = by_points.finish();
  const Chart chart = by_sketches.finish();
  EXPECT_EQ(chart.count, expected.count);
  ASSERT_EQ(chart.points.size(), expected.points.size());
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    EXPECT_THAT(chart.points[i], PointAt(expected.points[i].x, expected.points[i].y));
  }
}

}  // namespace
}  // namespace kedge::store
