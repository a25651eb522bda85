#include "track/history.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/attempt.h"
#include "track/run.h"

namespace kedge::track {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HistoryTest : public testing::Test {
 protected:
  using Run = track::Run;  // testing::Test has a function of that name

  HistoryTest() {
    start_.dir = folder_.path();
    start_.project = "p";
    start_.id = "r";
  }

  std::unique_ptr<Run> create() {
    auto run = Run::create(start_);
    KEDGE_CHECK(run.has_value(), "a test's run can be made");
    return std::move(*run);
  }

  std::unique_ptr<Run> resume(std::int64_t from_step) {
    auto run = Run::resume(start_, std::move(*Attempt::take(path_)), {.step = from_step});
    KEDGE_CHECK(run.has_value(), "a test's run can be resumed");
    return std::move(*run);
  }

  static void log(Run& run, std::int64_t step, double value, const char* key = "loss") {
    run.log(step, std::vector<Scalar>{{key, value}});
  }

  // (step, value, attempt)
  static std::vector<std::tuple<std::int64_t, double, int>> plain(
      const std::vector<Point>& points) {
    std::vector<std::tuple<std::int64_t, double, int>> list;
    for (const Point& point : points) {
      list.emplace_back(point.step, point.value, point.attempt);
    }
    return list;
  }

  ScratchFolder folder_;
  RunStart start_;
  Path path_ = folder_ / "p" / "r";
};

// Attempt 1 reaches 10 and dies; attempt 2 goes on from 6, reaches 8; attempt 3 goes on from 4, as
// when a checkpoint was bad, and has logged only 5 so far.
TEST_F(HistoryTest, the_newest_attempt_replaces_what_lies_beyond_its_beginning) {
  {
    const auto run = create();
    for (int step = 1; step <= 10; ++step) {
      log(*run, step, 100 + step);
    }
    log(*run, 3, 0.3, "val");
    log(*run, 9, 0.9, "val");
  }
  {
    const auto run = resume(6);
    for (int step = 7; step <= 8; ++step) {
      log(*run, step, 200 + step);
    }
  }
  {
    const auto run = resume(4);
    log(*run, 5, 305);
  }
  const auto history = read_history(path_);
  ASSERT_TRUE(history);
  EXPECT_THAT(history->problems, IsEmpty());
  EXPECT_THAT(plain(history->curves.at("loss").points),
              ElementsAre(FieldsAre(1, 101, 1), FieldsAre(2, 102, 1), FieldsAre(3, 103, 1),
                          FieldsAre(4, 104, 1), FieldsAre(5, 305, 3)));
  EXPECT_THAT(plain(history->curves.at("loss").replaced),
              ElementsAre(FieldsAre(5, 105, 1), FieldsAre(6, 106, 1), FieldsAre(7, 107, 1),
                          FieldsAre(7, 207, 2), FieldsAre(8, 108, 1), FieldsAre(8, 208, 2),
                          FieldsAre(9, 109, 1), FieldsAre(10, 110, 1)));
  EXPECT_THAT(plain(history->curves.at("val").points), ElementsAre(FieldsAre(3, 0.3, 1)));
  EXPECT_THAT(plain(history->curves.at("val").replaced), ElementsAre(FieldsAre(9, 0.9, 1)));
}

TEST_F(HistoryTest, the_step_an_attempt_began_at_may_be_logged_again) {
  {
    const auto run = create();
    log(*run, 4, 1);
  }
  {
    const auto run = resume(4);
    log(*run, 4, 2);
  }
  const auto history = read_history(path_);
  EXPECT_THAT(plain(history->curves.at("loss").points), ElementsAre(FieldsAre(4, 2, 2)));
  EXPECT_THAT(plain(history->curves.at("loss").replaced), ElementsAre(FieldsAre(4, 1, 1)));
}

TEST_F(HistoryTest, an_attempt_killed_before_its_first_record_counts) {
  {
    const auto run = create();
    log(*run, 1, 1);
    log(*run, 2, 2);
  }
  auto attempt = Attempt::take(path_);
  ASSERT_TRUE(attempt->set_facts(1, {}));
  EXPECT_THAT(plain(read_history(path_)->curves.at("loss").points),
              ElementsAre(FieldsAre(1, 1, 1)));
}

TEST_F(HistoryTest, logs_without_their_attempts_folder_say_where_they_began) {
  {
    const auto run = create();
    log(*run, 1, 1);
    log(*run, 2, 2);
  }
  {
    const auto run = resume(1);
    log(*run, 3, 3);
  }
  std::filesystem::remove_all(path_ / "attempts");
  EXPECT_THAT(plain(read_history(path_)->curves.at("loss").points),
              ElementsAre(FieldsAre(1, 1, 1), FieldsAre(3, 3, 2)));
}

TEST_F(HistoryTest, one_metric_can_be_read_alone_and_without_old_versions) {
  {
    const auto run = create();
    log(*run, 2, 1);
    log(*run, 2, 5, "other");
  }
  {
    const auto run = resume(0);
  }
  EXPECT_EQ(read_history(path_, {.key = "other"})->curves.size(), 1U);
  EXPECT_THAT(read_history(path_, {.with_replaced = false})->curves, IsEmpty());
}

TEST_F(HistoryTest, numbers_that_are_none_are_kept) {
  {
    const auto run = create();
    log(*run, 1, std::nan(""));
    log(*run, 2, -std::numeric_limits<double>::infinity());
  }
  const auto history = read_history(path_);
  const auto& points = history->curves.at("loss").points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_TRUE(std::isnan(points[0].value));
  EXPECT_EQ(points[1].value, -std::numeric_limits<double>::infinity());
}

TEST_F(HistoryTest, every_record_can_be_visited_with_its_origin) {
  {
    const auto run = create();
    run->console("hello");
    run->log_confusion("val", 7, {"a"}, {{1}});
  }
  {
    const auto run = resume(5);
  }
  std::vector<std::string> seen;
  const auto problems = read_records(path_, [&](const Record& record) {
    seen.push_back(fmt::format("a{} {} {} {}{}", record.attempt, record.seq, record.type,
                               record.step, record.is_replaced ? " replaced" : ""));
  });
  ASSERT_TRUE(problems);
  EXPECT_THAT(seen, ElementsAre("a1 0 attempt 0", "a1 1 config 0", "a1 2 console 0",
                                "a1 3 confusion 7 replaced", "a2 0 attempt 5", "a2 1 config 5"));
}

TEST_F(HistoryTest, damage_costs_only_what_follows_it_in_its_file) {
  {
    const auto run = create();
    for (int step = 1; step <= 50; ++step) {
      log(*run, step, step);
    }
  }
  {
    const auto run = resume(50);
    log(*run, 51, 51);
  }
  const Path log_path = path_ / "events-a1-r0.klog";
  {
    std::fstream file(log_path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(*size_of_file(log_path) / 2));
    file.put('\x55');
    file.put('\x55');
  }
  const auto history = read_history(path_);
  ASSERT_TRUE(history);
  ASSERT_EQ(history->problems.size(), 1U);
  EXPECT_THAT(history->problems[0], HasSubstr("is damaged"));
  const auto& points = history->curves.at("loss").points;
  EXPECT_GT(points.size(), 15U);
  EXPECT_LT(points.size(), 50U);
  EXPECT_EQ(points.back().step, 51);
}

TEST_F(HistoryTest, other_files_are_passed_over_and_no_folder_is_not_found) {
  ASSERT_TRUE(make_dirs(path_));
  for (const char* name : {"events-.klog", "events-a1.klog", "events-a1-r0.klog.bak", "x"}) {
    ASSERT_TRUE(write_file_atomic(path_ / name, "x"));
  }
  EXPECT_THAT(read_history(path_)->problems, IsEmpty());
  EXPECT_EQ(read_history(folder_ / "none").error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace kedge::track
