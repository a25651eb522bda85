// Attempts that replace steps: the store and the run folder tell the same story.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/random.h"
#include "store/store.h"
#include "store/test_backend.h"
#include "store/test_log.h"
#include "track/attempt.h"
#include "track/history.h"
#include "track/run.h"

namespace kedge::store {
namespace {

using testing::ElementsAre;

class AttemptsTest : public BackendTest {
 protected:
  // Three attempts in a run folder: the second goes on from step 60, the third from step 40.
  Path make_run_folder() {
    Path folder;
    std::int64_t from = 0;
    for (const std::int64_t next_from : {60, 40, 0}) {
      track::RunStart start;
      start.dir = files_.path();
      start.project = "mnist";
      start.id = "r";
      auto run =
          from == 0 && folder.empty()
              ? track::Run::create(start)
              : track::Run::resume(start, std::move(*track::Attempt::take(folder)), {.step = from});
      EXPECT_TRUE(run) << run.error().message;
      folder = (*run)->path();
      log_steps(**run, from);
      (*run)->finish(track::RunState::Interrupted, {});
      from = next_from;
    }
    return folder;
  }

  static void log_steps(track::Run& run, std::int64_t from) {
    for (std::int64_t step = from + 1; step <= from + 50; ++step) {
      const double value = static_cast<double>(run.attempt()) * 1000 + static_cast<double>(step);
      run.log(step, std::vector<track::Scalar>{{"loss", value}});
      if (step % 10 == 0) {
        // Two values at one step: the last counts.
        run.log(step, std::vector<track::Scalar>{{"loss", -value}, {"acc", value}});
      }
    }
    if (run.attempt() == 1) {
      run.log(70, std::vector<track::Scalar>{{"only/first", 1}});
    }
  }

  void expect_same(const Path& folder) {
    const auto expected = track::read_history(folder);
    ASSERT_TRUE(expected);
    ASSERT_THAT(expected->problems, testing::IsEmpty());
    for (const auto& [name, curve] : expected->curves) {
      const auto found = store_->read_history(key_, name);
      ASSERT_TRUE(found);
      expect_same(found->points, curve.points);
      expect_same(found->replaced, curve.replaced);
    }
  }

  static void expect_same(const std::vector<track::Point>& found,
                          const std::vector<track::Point>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].step, expected[i].step);
      EXPECT_EQ(found[i].value, expected[i].value);
      EXPECT_EQ(found[i].time_us, expected[i].time_us);
      EXPECT_EQ(found[i].attempt, expected[i].attempt);
    }
  }

  ScratchFolder files_;
  RunKey key_{"mnist", "r"};
};

KEDGE_EACH_BACKEND(AttemptsTest);

TEST_P(AttemptsTest, curves_are_those_of_the_run_folder_in_whatever_order_logs_come) {
  const Path folder = make_run_folder();
  std::vector<std::string> writers = {"a1-r0", "a2-r0", "a3-r0"};
  do {
    for (const std::string& writer : writers) {
      const auto bytes = read_file(folder / ("events-" + writer + ".klog"));
      ASSERT_TRUE(bytes);
      ingest(key_, writer, 0, frames_of(*bytes));
    }
    expect_same(folder);
    // The curve of loss ends where the third attempt ended.
    const auto metrics = store_->list_metrics(key_);
    ASSERT_TRUE(metrics);
    std::map<std::string, MetricSummary> summaries;
    for (const Metric& metric : *metrics) {
      if (metric.kind == MetricKind::Metric) {
        summaries[metric.key] = metric.summary;
      }
    }
    EXPECT_EQ(summaries["loss"].last, -3090);
    EXPECT_EQ(summaries["loss"].last_step, 90);
    EXPECT_EQ(summaries["loss"].max, 3090);  // logged, and logged again at the same step
    EXPECT_EQ(summaries["loss"].min, -3090);
    EXPECT_EQ(summaries["acc"].count, 9U);
    EXPECT_FALSE(summaries.contains("only/first"));
    EXPECT_EQ(store_->find_facts(key_)->attempt, 3);
    EXPECT_EQ(store_->find_facts(key_)->state, RunState::Preempted);
    EXPECT_EQ(store_->find_facts(key_)->last_step, 90);
    reopen();
    expect_same(folder);
    EXPECT_EQ(store_->find_run(key_)->summary["loss"]["max"], 3090);
    ASSERT_TRUE(store_->delete_run(key_));
  } while (std::ranges::next_permutation(writers).found);
}

TEST_P(AttemptsTest, one_attempt_can_be_asked_for) {
  const Path folder = make_run_folder();
  for (const char* writer : {"a1-r0", "a2-r0", "a3-r0"}) {
    ingest(key_, writer, 0,
           frames_of(*read_file(folder / ("events-" + std::string(writer) + ".klog"))));
  }
  const auto second = store_->read_series({.run = key_, .key = "acc", .points = 0, .attempt = 2});
  ASSERT_TRUE(second);
  EXPECT_THAT(second->x, ElementsAre(70, 80, 90, 100, 110));
  const auto attempts = store_->list_attempts(key_);
  ASSERT_TRUE(attempts);
  ASSERT_EQ(attempts->size(), 3U);
  EXPECT_EQ((*attempts)[2].from_step, 40);
  EXPECT_EQ((*attempts)[2].state, "interrupted");
}

}  // namespace
}  // namespace kedge::store
