// Values as they were logged, over many commits, on each database.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/tables.h"
#include "store/store.h"
#include "store/test_backend.h"

namespace kedge::store {
namespace {

using nlohmann::json;
using testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class PointsTest : public BackendTest {};

KEDGE_EACH_BACKEND(PointsTest);

TEST_P(PointsTest, every_value_is_kept_not_a_number_and_infinities_too) {
  const RunKey key = make_run("r");
  const std::vector<double> values = {1, std::nan(""), kInfinity, -kInfinity, -0.0, 5e-324};
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(store_->log(key, {{"x", static_cast<std::int64_t>(i), values[i]}}, kNow));
  }
  ASSERT_TRUE(store_->log(key, {{"y", 1, std::nan("")}}, kNow));
  for (const bool is_sealed : {false, true}) {
    if (is_sealed) {
      ASSERT_TRUE(store_->patch_run(key, {.state = RunState::Finished}, kNow));
    }
    reopen();
    const auto points = store_->read_history(key, "x")->points;
    ASSERT_EQ(points.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(points[i].value),
                std::bit_cast<std::uint64_t>(values[i]));
    }
    const json summary = store_->find_run(key)->summary;
    EXPECT_EQ(summary["x"]["min"], "-Infinity");
    EXPECT_EQ(summary["x"]["max"], "Infinity");
    EXPECT_EQ(summary["x"]["last"], 5e-324);
    EXPECT_EQ(summary["y"]["last"], "NaN");
  }
}

// Many commits: the journal grows, is sealed into chunks that grow, and starts again.
TEST_P(PointsTest, points_of_many_commits_come_back_in_order) {
  const RunKey key = make_run("r");
  constexpr int kSteps = 20'000;
  std::vector<LogPoint> points;
  for (int i = 0; i < kSteps; ++i) {
    points.push_back({"a", i, std::sin(i), kNow + i});
    if (i % 3 == 0) {
      points.push_back({"b", i, 1.0 * i, kNow + i});
    }
    if (points.size() >= 499 || i == kSteps - 1) {
      ASSERT_TRUE(store_->log(key, std::exchange(points, {}), kNow));
    }
  }
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) {
      reopen();
    }
    const auto a = store_->read_history(key, "a")->points;
    ASSERT_EQ(a.size(), kSteps);
    for (int i = 0; i < kSteps; ++i) {
      const auto& point = a[static_cast<std::size_t>(i)];
      ASSERT_EQ(point.step, i);
      ASSERT_EQ(point.value, std::sin(i));
      ASSERT_EQ(point.time_us, kNow + i);
    }
    const auto metrics = store_->list_metrics(key);
    ASSERT_TRUE(metrics);
    ASSERT_THAT(*metrics, SizeIs(2));
    EXPECT_EQ((*metrics)[1].summary.count, 6667U);
    EXPECT_EQ((*metrics)[1].summary.max, 19'998);
    EXPECT_EQ((*metrics)[1].summary.first_us, kNow);
  }
  std::int64_t chunks = 0;
  ASSERT_TRUE(Tables(*store_).read([&](Database& database) -> Result<void> {
    chunks = KEDGE_TRY(database.query_integer("SELECT count(*) FROM chunks", {}));
    return {};
  }));
  EXPECT_GE(chunks, 5);
  EXPECT_LE(chunks, 25);  // five full ones and, of each series, some that are not
}

}  // namespace
}  // namespace kedge::store
