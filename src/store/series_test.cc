// Curves over every axis, and charts of many points.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "store/store.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SeriesTest : public BackendTest {
 protected:
  Series read(const SeriesRequest& request) {
    auto series = store_->read_series(request);
    EXPECT_TRUE(series) << series.error().message;
    return std::move(*series);
  }

  // Steps 0, 1, ... with a spike that no chart may lose.
  static std::vector<LogPoint> make_points(std::int64_t count, std::int64_t spike) {
    std::vector<LogPoint> points;
    Random random(7);
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = i == spike ? 1000 : random.uniform(0, 1);
      points.push_back({"loss", i, value, kNow + i * kSecond});
    }
    return points;
  }
};

KEDGE_EACH_BACKEND(SeriesTest);

TEST_P(SeriesTest, x_is_the_step_a_time_an_epoch_or_another_metric) {
  const RunKey key = make_run("r");
  std::vector<LogPoint> points;
  for (std::int64_t step = 1; step <= 8; ++step) {
    points.push_back({"loss", step, static_cast<double>(step), kNow + step * kSecond});
  }
  points.push_back({"epoch", 4, 1, kNow + 4 * kSecond});
  points.push_back({"epoch", 6, 2, kNow + 6 * kSecond});
  points.push_back({"tokens", 2, 200, kNow});
  points.push_back({"tokens", 6, 100, kNow});
  ASSERT_TRUE(store_->log(key, points, kNow));
  const SeriesRequest base{.run = key, .key = "loss"};
  const auto x_of = [&](const std::string& x) {
    SeriesRequest request = base;
    request.x = x;
    return read(request).x;
  };
  EXPECT_THAT(x_of("step"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(x_of("relative"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(x_of("time").front(), 1'794'719'618.0);
  EXPECT_THAT(x_of("epoch"), ElementsAre(0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3));
  EXPECT_THAT(x_of("tokens"), ElementsAre(100, 200));
  EXPECT_THAT(x_of("nothing"), IsEmpty());
  SeriesRequest by_tokens = base;
  by_tokens.x = "tokens";
  EXPECT_THAT(read(by_tokens).y, ElementsAre(6, 2));
  SeriesRequest part = base;
  part.from = 3;
  part.to = 5;
  EXPECT_THAT(read(part).y, ElementsAre(3, 4, 5));
  EXPECT_EQ(read({.run = key, .key = "none"}).count, 0U);
}

TEST_P(SeriesTest, a_chart_keeps_the_least_and_greatest_of_few_and_of_many_points) {
  for (const std::int64_t count : {20'000, 300'000}) {
    const RunKey key = make_run("r" + std::to_string(count));
    ASSERT_TRUE(store_->log(key, make_points(count, count / 3), kNow));
    for (const char* x : {"step", "relative"}) {
      const Series series = read({.run = key, .key = "loss", .x = x, .points = 200});
      EXPECT_EQ(series.count, static_cast<std::uint64_t>(count));
      EXPECT_TRUE(series.is_sampled);
      EXPECT_LE(series.x.size(), 204U);
      EXPECT_GE(series.x.size(), 190U);
      EXPECT_TRUE(std::ranges::is_sorted(series.x));
      EXPECT_EQ(series.x.front(), 0);
      EXPECT_EQ(series.x.back(), static_cast<double>(count - 1));
      const auto spike = std::ranges::find(series.y, 1000.0);
      ASSERT_NE(spike, series.y.end());
      EXPECT_EQ(series.x[static_cast<std::size_t>(spike - series.y.begin())],
                static_cast<double>(count / 3));
      // Thousands of uniform values in each bucket: its least is near 0.
      EXPECT_LT(std::ranges::count_if(series.y, [](double y) { return y > 0.1 && y < 0.9; }), 6);
    }
    const Series every = read({.run = key, .key = "loss", .points = 0});
    EXPECT_EQ(every.y.size(), static_cast<std::size_t>(count));
    EXPECT_FALSE(every.is_sampled);
  }
}

// The same curve once from sketches and once, logged in falling order, point by point.
TEST_P(SeriesTest, a_chart_from_sketches_counts_as_one_from_points) {
  constexpr std::int64_t kCount = 200'000;
  const RunKey rising = make_run("rising");
  const RunKey falling = make_run("falling");
  auto points = make_points(kCount, 77);
  points[50'000].value = std::nan("");
  ASSERT_TRUE(store_->log(rising, points, kNow));
  std::ranges::reverse(points);
  ASSERT_TRUE(store_->log(falling, points, kNow));
  for (const auto& [from, to] : {std::pair(0.0, 2e5), std::pair(12'345.0, 189'012.0)}) {
    SeriesRequest request{.run = rising, .key = "loss", .points = 100, .from = from, .to = to};
    const Series sketched = read(request);
    request.run = falling;
    const Series exact = read(request);
    EXPECT_EQ(sketched.count, exact.count);
    EXPECT_EQ(std::ranges::count_if(sketched.y, [](double y) { return std::isnan(y); }), 1);
    EXPECT_EQ(std::ranges::max(sketched.y, {}, [](double y) { return std::isnan(y) ? 0 : y; }),
              std::ranges::max(exact.y, {}, [](double y) { return std::isnan(y) ? 0 : y; }));
    EXPECT_EQ(sketched.x.front(), exact.x.front());
    EXPECT_EQ(sketched.x.back(), exact.x.back());
  }
}

// What a reader sees while commits and seals go on is always the beginning of the curve.
TEST_P(SeriesTest, readers_see_whole_commits_while_points_arrive) {
  const RunKey key = make_run("r");
  std::atomic<bool> is_done = false;
  std::atomic<bool> has_failed = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      std::size_t before = 0;
      do {
        const auto curve = store_->read_history(key, "loss");
        const auto found = store_->search({.filter = "loss >= 0"}, kNow);
        bool is_good =
            curve && found && curve->points.size() >= before && curve->points.size() % 100 == 0;
        for (std::size_t at = 0; is_good && at < curve->points.size(); ++at) {
          is_good = curve->points[at].value == static_cast<double>(at);
        }
        before = is_good ? curve->points.size() : before;
        has_failed = has_failed || !is_good;
      } while (!is_done);
    });
  }
  std::int64_t step = 0;
  for (int commit = 0; commit < 200; ++commit) {
    std::vector<LogPoint> points;
    for (int i = 0; i < 100; ++i, ++step) {
      points.push_back({"loss", step, static_cast<double>(step)});
    }
    ASSERT_TRUE(store_->log(key, std::move(points), kNow));
  }
  is_done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_FALSE(has_failed);
  EXPECT_EQ(store_->read_history(key, "loss")->points.size(), 20'000U);
}

}  // namespace
}  // namespace kedge::store
