#include "store/chunk.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/hash.h"
#include "core/random.h"

namespace kedge::store {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_same(const Points& a, const Points& b) {
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.times_us, b.times_us);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a.values[i]), std::bit_cast<std::uint64_t>(b.values[i]))
        << "value " << i;
  }
}

void expect_round_trip(const Points& points) {
  const Result<Points> back = decode_chunk(encode_chunk(points));
  ASSERT_TRUE(back) << back.error().message;
  expect_same(*back, points);
}

std::string with_checksum(std::string bytes) {
  const auto sum = static_cast<std::uint32_t>(xxh3_64(as_bytes(bytes)));
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>(sum >> shift));
  }
  return bytes;
}

// A loss as float32 training logs it, every 10 steps, a step every 20 ms or so.
Points real_curve(std::size_t count) {
  Random random(7);
  Points points;
  std::int64_t time_us = 1'795'000'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = random.uniform() + random.uniform() - 1;
    const double loss = 2.3 / (1 + 0.001 * static_cast<double>(i)) * (1 + 0.05 * noise);
    time_us += 200'000 + static_cast<std::int64_t>(random.below(3000));
    points.add({static_cast<std::int64_t>(i) * 10, time_us, static_cast<float>(loss)});
  }
  return points;
}

TEST(chunk, the_bytes_are_those_of_the_format) {
  // By hand, from docs/formats/chunk.md: two points (5, 100, 1.0) and (7, 130, 1.0). Delta: slope
  // 2, base 5 - 2 = 3, zigzag 6 and 4; slope 30, base 70, zigzag 140 = 8c 01 and 60 = 3c. Plain
  // values 3ff0000000000000: planes 6 and 7 constant, kinds 01 in bits 12 and 14: 0x5000.
  const std::string expected =
      with_checksum(std::string("\x01\x02"
                                "\x01\x06\x04\x00\x00"
                                "\x01\x8c\x01\x3c\x00\x00"
                                "\x00\x00\x50\xf0\x3f",
                                18));
  Points points;
  points.add({5, 100, 1.0});
  points.add({7, 130, 1.0});
  EXPECT_EQ(encode_chunk(points), expected);
  const Result<Points> back = decode_chunk(expected);
  ASSERT_TRUE(back);
  expect_same(*back, points);
}

TEST(chunk, no_points_and_one_point_come_back) {
  expect_round_trip({});
  Points one;
  one.add({-3, 1'795'000'000'000'000, -2.5});
  expect_round_trip(one);
}

TEST(chunk, every_bit_of_strange_values_comes_back) {
  Points points;
  std::int64_t step = 0;
  for (const double value :
       {0.0, -0.0, kNaN, -kNaN, kInfinity, -kInfinity, std::numeric_limits<double>::denorm_min(),
        -std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
        std::numeric_limits<double>::lowest(), std::numeric_limits<double>::epsilon(),
        std::bit_cast<double>(0x7FF0000000000001ULL),  // a signalling NaN
        std::bit_cast<double>(0xFFF8DEADBEEF1234ULL)}) {
    points.add({step++, 0, value});
  }
  expect_round_trip(points);
}

TEST(chunk, the_ends_of_int64_come_back) {
  Points points;
  for (const std::int64_t step : {kLeast, kGreatest, std::int64_t{0}, kLeast, kLeast + 1, kGreatest,
                                  kGreatest, std::int64_t{-1}}) {
    points.add({step, -(step / 2), 1});
  }
  expect_round_trip(points);
}

TEST(chunk, random_series_come_back) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    Points points;
    const std::uint64_t count = random.below(round % 10 == 0 ? 5000 : 70);
    const std::uint64_t bits = 1 + random.below(63);
    const bool is_float = random.below(2) == 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = std::bit_cast<double>(random.next());
      points.add({static_cast<std::int64_t>(random.next() >> bits),
                  static_cast<std::int64_t>(random.next() >> random.below(64)),
                  is_float ? static_cast<double>(static_cast<float>(random.uniform())) : value});
    }
    expect_round_trip(points);
  }
}

TEST(chunk, a_full_chunk_comes_back) {
  expect_round_trip(real_curve(kMaxChunkPoints));
}

TEST(chunk, a_training_curve_takes_few_bytes) {
  const std::string bytes = encode_chunk(real_curve(4096));
  EXPECT_LT(bytes.size(), 4096 * 6);  // of 24 plain

  Points schedule;  // constant stride, time and value
  for (int i = 0; i < 4096; ++i) {
    schedule.add({i, 1'000'000 + i * 1000, 0.001});
  }
  EXPECT_LT(encode_chunk(schedule).size(), 50U);
}

TEST(chunk, columns_not_asked_for_are_zeros) {
  const Points points = real_curve(100);
  const std::string bytes = encode_chunk(points);
  const Result<Points> by_step = decode_chunk(bytes, ChunkColumns::StepsAndValues);
  const Result<Points> by_time = decode_chunk(bytes, ChunkColumns::TimesAndValues);
  ASSERT_TRUE(by_step && by_time);
  const std::vector<std::int64_t> zeros(100, 0);
  expect_same(*by_step, {points.steps, zeros, points.values});
  expect_same(*by_time, {zeros, points.times_us, points.values});
}

TEST(chunk, chunks_go_onto_one_another) {
  const Points first = real_curve(70);
  Points all;
  ASSERT_TRUE(decode_chunk_onto(encode_chunk(first), ChunkColumns::All, all));
  ASSERT_TRUE(decode_chunk_onto(encode_chunk(first), ChunkColumns::All, all));
  EXPECT_FALSE(decode_chunk_onto("nonsense", ChunkColumns::All, all));
  ASSERT_EQ(all.size(), 140U);
  EXPECT_EQ(all.at(69), first.at(69));
  EXPECT_EQ(all.at(70), first.at(0));
}

TEST(chunk, every_cut_and_every_flipped_bit_is_found) {
  const std::string bytes = encode_chunk(real_curve(40));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_chunk(bytes.substr(0, length)));
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Result<Points> back = decode_chunk(flipped);
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().kind, ErrorKind::Corrupt);
  }
}

TEST(chunk, lies_under_a_good_checksum_are_corrupt) {
  const auto lie = [](const std::string& bytes) {
    const Result<Points> back = decode_chunk(with_checksum(bytes));
    return back ? std::string("read") : back.error().message;
  };
  EXPECT_EQ(lie("\x02"), "a metric chunk is damaged: version 2 is not known");
  EXPECT_EQ(lie("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            "a metric chunk is damaged: it claims too many points");
  EXPECT_EQ(lie(std::string("\x01\x02\x07", 3)),
            "a metric chunk is damaged: a column does not have its length");
  std::string with_more(encode_chunk({}));
  with_more.resize(with_more.size() - 4);
  EXPECT_EQ(lie(with_more), "read");
  EXPECT_EQ(lie(with_more + "x"), "a metric chunk is damaged: a column does not have its length");
}

TEST(sketch, it_knows_the_extremes_and_where_they_are) {
  Points points;
  points.add({10, 1000, 3});
  points.add({20, 2000, kNaN});
  points.add({15, 3000, -1});
  points.add({30, 2500, 7});
  points.add({40, 5000, 7});
  const ChunkStats stats = sketch_of(points).stats;
  EXPECT_EQ(stats.whole.count, 5U);
  EXPECT_EQ(stats.whole.nan_count, 1U);
  EXPECT_EQ(stats.whole.first, (Point{10, 1000, 3}));
  EXPECT_EQ(stats.whole.last, (Point{40, 5000, 7}));
  EXPECT_EQ(stats.whole.min, (Point{15, 3000, -1}));
  EXPECT_EQ(stats.whole.max, (Point{30, 2500, 7}));
  EXPECT_EQ(stats.whole.nan.step, 20);
  EXPECT_EQ(stats.min_step, 10);
  EXPECT_EQ(stats.max_step, 40);
  EXPECT_EQ(stats.min_time_us, 1000);
  EXPECT_EQ(stats.max_time_us, 5000);
  EXPECT_FALSE(stats.is_sorted);
  EXPECT_FALSE(stats.has_infinity);
}

TEST(sketch, nan_before_the_first_number_hides_nothing) {
  Points points;
  points.add({1, 0, kNaN});
  points.add({2, 0, 5});
  points.add({3, 0, -kInfinity});
  const ChunkStats stats = sketch_of(points).stats;
  EXPECT_EQ(stats.whole.min.step, 3);
  EXPECT_EQ(stats.whole.max.step, 2);
  EXPECT_TRUE(stats.has_infinity);
  EXPECT_TRUE(stats.is_sorted);
}

TEST(sketch, its_ranges_hold_all_points_in_order) {
  for (const std::size_t count : {1U, 5U, 16U, 17U, 1000U, 4096U}) {
    const Points points = real_curve(count);
    const ChunkSketch sketch = sketch_of(points);
    ASSERT_EQ(sketch.ranges.size(), std::min(count, kSketchRanges));
    std::size_t at = 0;
    for (const PointsSketch& range : sketch.ranges) {
      EXPECT_EQ(range.first, points.at(at));
      at += range.count;
      EXPECT_EQ(range.last, points.at(at - 1));
    }
    EXPECT_EQ(at, count);
  }
}

TEST(sketch, it_comes_back_and_is_small) {
  Points points = real_curve(4096);
  points.values[1000] = kNaN;
  points.values[2000] = kInfinity;
  const ChunkSketch sketch = sketch_of(points);
  const std::string bytes = encode_sketch(sketch);
  const Result<ChunkSketch> back = decode_sketch(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sketch);
  EXPECT_LT(bytes.size(), 1100U);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_sketch(bytes.substr(0, length)));
  }
}

}  // namespace
}  // namespace kedge::store
