#include "core/units.h"

#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(Units, sizes_are_read_as_people_write_them) {
  EXPECT_EQ(parse_bytes("512")->value, 512U);
  EXPECT_EQ(parse_bytes("64MB")->value, 64'000'000U);
  EXPECT_EQ(parse_bytes("1.5 GiB")->value, 1'610'612'736U);
  EXPECT_EQ(parse_bytes("4G")->value, 4'000'000'000U);
  EXPECT_EQ(parse_bytes(" 2ki ")->value, 2048U);
  for (const char* bad : {"", "GB", "-1", "1XB", "1.2.3M", "nan", "12 parsecs"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(Units, durations_are_read_as_people_and_slurm_write_them) {
  EXPECT_EQ(parse_seconds("90")->value, 90);
  EXPECT_EQ(parse_seconds("2h30m")->value, 9000);
  EXPECT_EQ(parse_seconds("1d")->value, 86400);
  EXPECT_EQ(parse_seconds("310ms")->value, 0.31);
  EXPECT_EQ(parse_seconds("01:00:00")->value, 3600);
  EXPECT_EQ(parse_seconds("15:30")->value, 930);
  EXPECT_EQ(parse_seconds("2-03:04:05")->value, 2 * 86400 + 3 * 3600 + 4 * 60 + 5);
  for (const char* bad : {"", "abc", "-5", "5 fortnights", "1:", ":1", "1-:2", "x-01:00:00"}) {
    EXPECT_FALSE(parse_seconds(bad)) << bad;
  }
}

TEST(Units, what_is_printed_can_be_read_again) {
  for (const double seconds : {0.31, 4.2, 59.0, 61.0, 3599.0, 9000.0, 90000.0}) {
    const auto again = parse_seconds(render_seconds({seconds}));
    ASSERT_TRUE(again) << render_seconds({seconds});
    EXPECT_NEAR(again->value, seconds, seconds * 0.03);
  }
  EXPECT_EQ(parse_bytes(render_bytes({3U << 20U}))->value, 3U << 20U);
}

TEST(Units, numbers_are_printed_for_people) {
  EXPECT_EQ(render_bytes({1'610'612'736}), "1.5 GiB");
  EXPECT_EQ(render_bytes({12}), "12 B");
  EXPECT_EQ(render_seconds({9000}), "2h30m");
  EXPECT_EQ(render_seconds({4.2}), "4.2s");
  EXPECT_EQ(render_seconds({0.31}), "310ms");
  EXPECT_EQ(render_count(12400), "12.4k");
  EXPECT_EQ(render_count(3.1e6), "3.1M");
  EXPECT_EQ(render_count(999), "999");
  EXPECT_EQ(render_grouped(11173962), "11,173,962");
  EXPECT_EQ(render_grouped(100), "100");
}

}  // namespace
}  // namespace kedge
