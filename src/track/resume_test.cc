// Runs that go on: later attempts of the same folder.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"
#include "track/attempt.h"
#include "track/event_log.h"
#include "track/internal/csv_table.h"
#include "track/run.h"

namespace kedge::track {
namespace {

using testing::HasSubstr;

class ResumeTest : public testing::Test {
 protected:
  using Run = track::Run;  // testing::Test has a function of that name

  ResumeTest() {
    start_.dir = folder_.path();
    start_.project = "p";
    start_.id = "r";
    start_.name = "first-name";
    start_.tags = {"old"};
    start_.csv = "metrics.csv";
    start_.config_file_text = "epochs: 3\n";
    start_.effective_config_text = "train:\n  epochs: 3\n";
    start_.config_hash = "h1";
    start_.environment = {{"host", "h"}, {"git", {{"patch", "diff 1\n"}}}};
  }

  std::unique_ptr<Run> create() {
    auto run = Run::create(start_);
    KEDGE_CHECK(run.has_value(), "a test's run can be made");
    return std::move(*run);
  }

  std::unique_ptr<Run> resume(const ResumePoint& point) {
    auto attempt = Attempt::take(path_);
    KEDGE_CHECK(attempt.has_value(), "nobody else holds a test's run");
    auto run = Run::resume(start_, std::move(*attempt), point);
    KEDGE_CHECK(run.has_value(), "a test's run can be resumed");
    return std::move(*run);
  }

  std::vector<nlohmann::json> events(const std::string& writer) const {
    auto reader = EventLogReader::open(path_ / ("events-" + writer + ".klog"));
    EXPECT_TRUE(reader);
    std::vector<nlohmann::json> records;
    while (auto record = *reader->next()) {
      records.push_back(std::move(*record));
    }
    return records;
  }

  nlohmann::json description() const {
    return nlohmann::json::parse(*read_file(path_ / "run.json"));
  }

  ScratchFolder folder_;
  RunStart start_;
  Path path_ = folder_ / "p" / "r";
};

TEST_F(ResumeTest, a_resumed_run_is_the_next_attempt_of_the_same_folder) {
  {
    const auto run = create();
    EXPECT_EQ(run->attempt(), 1);
    run->log(1, std::vector<Scalar>{{"loss", 3}});
    run->console("one");
    run->finish(RunState::Interrupted, {{"steps", 1}});
  }
  start_.name.clear();
  start_.tags = {"new"};
  {
    const auto run = resume({.step = 1, .epoch = 0, .changes = {{"train.lr", "0.1", "0.2"}}});
    EXPECT_EQ(run->attempt(), 2);
    EXPECT_EQ(run->id(), "r");
    EXPECT_EQ(run->name(), "first-name");
    EXPECT_EQ(run->path(), path_);
    const auto now = description();
    EXPECT_EQ(now["state"], "running");
    EXPECT_EQ(now["attempt"], 2);
    EXPECT_EQ(now["tags"], nlohmann::json{"new"});
    EXPECT_TRUE(now.contains("resumed"));
    EXPECT_FALSE(now.contains("finished"));
    EXPECT_FALSE(now.contains("summary"));
    run->log(2, std::vector<Scalar>{{"loss", 2}});
    run->console("two");
    run->finish(RunState::Finished, {{"steps", 2}});
  }
  EXPECT_EQ(description()["state"], "finished");
  EXPECT_EQ(*read_file(path_ / "console.log"), "one\ntwo\n");
  EXPECT_EQ(events("a1-r0").at(2)["body"], (nlohmann::json{{"loss", 3}}));
  const auto records = events("a2-r0");
  EXPECT_EQ(records.at(0)["type"], "attempt");
  EXPECT_EQ(records.at(0)["body"]["attempt"], 2);
  EXPECT_EQ(records.at(0)["body"]["from_step"], 1);
  EXPECT_EQ(records.at(0)["body"]["changes"],
            nlohmann::json::array({{{"key", "train.lr"}, {"before", "0.1"}, {"after", "0.2"}}}));
  EXPECT_EQ(records.at(2)["body"], (nlohmann::json{{"loss", 2}}));
  const auto attempts = list_attempts(path_);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].state, "interrupted");
  EXPECT_EQ(attempts[0].from_step, 0);
  EXPECT_EQ(attempts[1].state, "finished");
  EXPECT_EQ(attempts[1].from_step, 1);
}

TEST_F(ResumeTest, a_changed_config_keeps_the_old_one_under_its_attempt) {
  create()->finish(RunState::Failed, {});
  resume({})->finish(RunState::Failed, {});  // unchanged
  EXPECT_FALSE(std::filesystem::exists(path_ / "config.a1.yaml"));
  start_.effective_config_text = "train:\n  epochs: 4\n";
  start_.config_hash = "h2";
  start_.environment = {{"host", "h3"}, {"git", {{"patch", "diff 3\n"}}}};
  resume({})->finish(RunState::Failed, {});
  EXPECT_EQ(*read_file(path_ / "config.yaml"), "train:\n  epochs: 4\n");
  EXPECT_EQ(*read_file(path_ / "config.a2.yaml"), "train:\n  epochs: 3\n");
  EXPECT_FALSE(std::filesystem::exists(path_ / "config.user.a2.yaml"));
  EXPECT_EQ(description()["config_hash"], "h2");
  EXPECT_THAT(*read_file(path_ / "environment.json"), HasSubstr("\"h\""));
  EXPECT_THAT(*read_file(path_ / "environment.a3.json"), HasSubstr("\"h3\""));
  EXPECT_EQ(*read_file(path_ / "code.patch"), "diff 1\n");
  EXPECT_EQ(*read_file(path_ / "code.a3.patch"), "diff 3\n");
}

TEST_F(ResumeTest, the_table_goes_on_after_the_epoch_that_counts) {
  {
    const auto run = create();
    for (int epoch = 1; epoch <= 3; ++epoch) {
      run->log_epoch(epoch, epoch * 10, std::vector<Scalar>{{"b", 0.5 * epoch}, {"a", 1}});
    }
  }
  {
    const auto run = resume({.step = 12, .epoch = 1});
    EXPECT_EQ(*read_file(path_ / "metrics.csv"), "epoch,step,b,a\n1,10,0.5,1\n");
    run->log_epoch(2, 20, std::vector<Scalar>{{"a", 7}, {"b", 8}, {"c", 9}});
    run->finish(RunState::Finished, {});
  }
  EXPECT_EQ(*read_file(path_ / "metrics.csv"), "epoch,step,b,a,c\n1,10,0.5,1,\n2,20,8,7,9\n");
}

TEST_F(ResumeTest, tables_that_people_or_crashes_changed_are_survived) {
  struct Case {
    std::string before;
    std::string after;
  };

  const std::vector<Case> cases = {
      {"epoch,step,a\n1,10,1\n2,2", "epoch,step,a\n1,10,1\n"},                       // torn row
      {"epoch,step,a\n1,10\n1,10,3,4\nx,10,3\n1,10,5\n", "epoch,step,a\n1,10,5\n"},  // not rows
      {"epoch,step,\"x, \"\"y\"\"\"\n1,10,5\n", "epoch,step,\"x, \"\"y\"\"\"\n1,10,5\n"},
      {"epoch,step,a\r\n1,10,5\r\n", "epoch,step,a\n1,10,5\r\n"},
      {"epoch,step\n", "epoch,step\n"},
  };
  for (const Case& c : cases) {
    ASSERT_TRUE(write_file_atomic(folder_ / "m.csv", c.before));
    ASSERT_TRUE(CsvTable::resume(folder_ / "m.csv", 1)) << c.before;
    EXPECT_EQ(*read_file(folder_ / "m.csv"), c.after) << c.before;
  }
  for (const std::string& other : {std::string(), std::string("epoch;step\n1;2\n"),
                                   std::string("epoch,st"), std::string("\0\"\n", 3)}) {
    ASSERT_TRUE(write_file_atomic(folder_ / "m.csv", other));
    testing::internal::CaptureStderr();
    auto table = CsvTable::resume(folder_ / "m.csv", 1);
    ASSERT_TRUE(table);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("m.csv.old"));
    EXPECT_EQ(*read_file(folder_ / "m.csv.old"), other);
    ASSERT_TRUE(table->add_row(2, 20, {{"a", 1}}));
    EXPECT_EQ(*read_file(folder_ / "m.csv"), "epoch,step,a\n2,20,1\n");
  }
}

TEST_F(ResumeTest, images_of_earlier_attempts_are_never_replaced) {
  const std::vector<std::uint8_t> pixels(3, 9);
  EXPECT_EQ(create()->save_image("x", pixels, 1, 1, 3), "media/x.png");
  EXPECT_EQ(resume({})->save_image("x", pixels, 1, 1, 3), "media/x-2.png");
}

TEST_F(ResumeTest, sync_returns_when_what_was_logged_is_in_the_file) {
  const auto run = create();
  for (int i = 0; i < 100; ++i) {
    run->log(i, std::vector<Scalar>{{"x", i * 1.0}});
    run->log_epoch(i, i, std::vector<Scalar>{{"y", i * 1.0}});
    ASSERT_TRUE(run->sync());
    // attempt, config, and two records a step.
    ASSERT_EQ(events("a1-r0").size(), 2U + 2U * static_cast<std::size_t>(i + 1));
  }
  run->finish(RunState::Finished, {});
  EXPECT_TRUE(run->sync());
}

TEST_F(ResumeTest, sync_holds_while_other_threads_log) {
  const auto run = create();
  std::atomic<bool> is_done = false;
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) {
    others.emplace_back([&] {
      // Together less than the ring holds: what the savers log is never dropped.
      for (int i = 0; i < 1000 && !is_done; ++i) {
        run->log(1, std::vector<Scalar>{{"noise", 1}});
        std::this_thread::yield();
      }
    });
  }
  std::vector<std::thread> savers;
  for (int t = 0; t < 2; ++t) {
    savers.emplace_back([&, t] {
      for (int i = 1; i <= 20; ++i) {
        run->log(i, std::vector<Scalar>{{t == 0 ? "a" : "b", i * 1.0}});
        EXPECT_TRUE(run->sync());
        bool is_there = false;
        for (const auto& record : events("a1-r0")) {
          const auto& body = record["body"];
          is_there = is_there || (record["step"] == i && body.contains(t == 0 ? "a" : "b"));
        }
        EXPECT_TRUE(is_there) << i;
      }
    });
  }
  for (std::thread& saver : savers) {
    saver.join();
  }
  is_done = true;
  for (std::thread& other : others) {
    other.join();
  }
}

TEST_F(ResumeTest, sync_says_when_the_disk_is_full) {
  const SmallDisk disk(256);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  start_.dir = disk.path();
  const auto run = create();
  ASSERT_TRUE(run->sync());
  testing::internal::CaptureStderr();
  run->console(std::string(400'000, 'x'));
  const auto synced = run->sync();
  static_cast<void>(testing::internal::GetCapturedStderr());
  ASSERT_FALSE(synced);
  EXPECT_THAT(synced.error().message, HasSubstr("No space left"));
}

TEST_F(ResumeTest, a_run_that_was_lost_writes_no_description_and_syncs_no_more) {
  auto first = create();
  // As if another machine had found this one silent.
  ASSERT_TRUE(write_file_atomic(path_ / "attempts" / "2.json", "{}"));
  const auto synced = first->sync();
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind, ErrorKind::Unavailable);
  EXPECT_THAT(synced.error().message, HasSubstr("attempt 1 has lost run"));
  EXPECT_TRUE(first->is_lost());
  first->finish(RunState::Failed, {});
  EXPECT_EQ(description()["state"], "running");
  EXPECT_EQ(list_attempts(path_).at(0).state, "failed");
}

TEST_F(ResumeTest, a_run_being_made_is_not_made_twice) {
  const auto run = create();
  EXPECT_EQ(Run::create(start_).error().kind, ErrorKind::Usage);
  std::filesystem::remove(path_ / "run.json");  // as if it were not yet written
  EXPECT_EQ(Run::create(start_).error().kind, ErrorKind::Unavailable);
}

TEST_F(ResumeTest, a_folder_left_by_a_process_killed_while_making_it_is_taken_over) {
  {
    const auto run = create();
  }
  std::filesystem::remove(path_ / "run.json");
  const auto run = create();
  EXPECT_EQ(run->attempt(), 2);
  EXPECT_EQ(run->path(), path_);
  EXPECT_EQ(description()["attempt"], 2);
}

TEST_F(ResumeTest, a_broken_description_is_refused_and_the_run_let_go) {
  {
    const auto run = create();
  }
  ASSERT_TRUE(write_file_atomic(path_ / "run.json", "{\"id\": 5}"));
  const auto run = Run::resume(start_, std::move(*Attempt::take(path_)), {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::Corrupt);
  EXPECT_FALSE(*find_live_holder(path_));
}

}  // namespace
}  // namespace kedge::track
