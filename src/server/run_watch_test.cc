#include "server/run_watch.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/file.h"
#include "core/flip_byte.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "server/internal/watched_run.h"
#include "store/blobs.h"
#include "store/store.h"
#include "track/attempt.h"
#include "track/event_log.h"
#include "track/history.h"
#include "track/log_chain.h"
#include "track/run.h"
#include "track/run_facts.h"

namespace kedge::server {
namespace {

using track::RunState;

constexpr std::int64_t kNow = 1'800'000'000'000'000;

class RunWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = store::Store::open((folder_ / "store").string(), kNow);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    auto blobs = store::BlobStore::open((folder_ / "blobs").string());
    ASSERT_TRUE(blobs) << blobs.error().message;
    blobs_ = std::move(*blobs);
  }

  track::RunStart start_of(const std::string& id) const {
    track::RunStart start;
    start.dir = runs_;
    start.project = "p";
    start.id = id;
    start.effective_config_text = "lr: 0.5\n";
    start.environment = nlohmann::json::object();
    return start;
  }

  std::unique_ptr<track::Run> make_run(const std::string& id) const {
    auto run = track::Run::create(start_of(id));
    KEDGE_CHECK(run.has_value(), "a test's run can be made");
    return std::move(*run);
  }

  static void log(track::Run& run, std::int64_t first, std::int64_t last) {
    for (std::int64_t step = first; step <= last; ++step) {
      const std::array<track::Scalar, 1> values = {
          {{.key = "loss", .value = 1.0 / static_cast<double>(step)}}};
      run.log(step, values);
    }
    ASSERT_TRUE(run.sync());
  }

  // What the file itself says.
  static track::LogPosition position_in(const Path& log) {
    auto reader = track::EventLogReader::open(log);
    track::LogPosition position;
    for (auto frame = reader->next_frame(); frame && *frame; frame = reader->next_frame()) {
      position.pass(**frame);
    }
    return position;
  }

  void expect_same(const Path& run, const std::string& writer) {
    const track::LogPosition there = position_in(track::log_path(run, writer));
    const auto here = store_->find_source({"p", run.filename().string()}, writer);
    ASSERT_TRUE(here);
    EXPECT_EQ(here->next_seq, there.next_seq);
    EXPECT_EQ(here->offset, there.offset);
    EXPECT_EQ(here->digest, there.digest());
  }

  void expect_same_curve(const Path& run) {
    const auto there = track::read_history(run);
    const auto here = store_->read_history({"p", run.filename().string()}, "loss");
    ASSERT_TRUE(there);
    ASSERT_TRUE(here);
    const auto& points = there->curves.at("loss").points;
    ASSERT_EQ(here->points.size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(here->points[i].step, points[i].step);
      EXPECT_EQ(here->points[i].value, points[i].value);
      EXPECT_EQ(here->points[i].attempt, points[i].attempt);
    }
  }

  ScratchFolder folder_;
  Path runs_ = folder_ / "runs";
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::BlobStore> blobs_;
  NowUs now_us_ = [] { return kNow; };

  WatchTarget target() { return {*store_, blobs_.get(), now_us_}; }
};

TEST_F(RunWatchTest, a_finished_run_comes_in_at_one_look_and_then_costs_none) {
  const auto run = make_run("a");
  log(*run, 1, 100);
  const std::array<std::uint8_t, 3> pixel = {1, 2, 3};
  run->save_image("dot", pixel, 1, 1, 3);
  run->finish(RunState::Finished, nlohmann::json::object());
  WatchedRun watched(run->path());
  const auto first = watched.look(target());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->records, position_in(track::log_path(run->path(), "a1-r0")).next_seq);
  expect_same(run->path(), "a1-r0");
  expect_same_curve(run->path());
  const auto facts = store_->find_run({"p", "a"});
  EXPECT_EQ(facts->facts.state, store::RunState::Finished);
  EXPECT_EQ(facts->config["lr"], 0.5);
  const auto files = store_->list_files({"p", "a"});
  EXPECT_THAT(*files, testing::Contains(testing::Field(&store::RunFile::path, "media/dot.png")));
  ASSERT_TRUE(watched.look(target()));
  const auto third = watched.look(target());
  EXPECT_FALSE(third->has_changed);
  EXPECT_EQ(third->records, 0U);
  EXPECT_FALSE(watched.is_busy());
}

TEST_F(RunWatchTest, a_growing_log_comes_in_piece_by_piece) {
  const auto run = make_run("a");
  WatchedRun watched(run->path());
  std::uint64_t records = 0;
  for (std::int64_t i = 0; i < 5; ++i) {
    log(*run, 10 * i + 1, 10 * i + 10);
    const auto look = watched.look(target());
    ASSERT_TRUE(look) << look.error().message;
    EXPECT_GE(look->records, 10U);
    records += look->records;
    expect_same(run->path(), "a1-r0");
    EXPECT_TRUE(watched.is_busy());
  }
  EXPECT_EQ(records, position_in(track::log_path(run->path(), "a1-r0")).next_seq);
}

TEST_F(RunWatchTest, a_torn_tail_is_waited_for) {
  const auto run = make_run("a");
  log(*run, 1, 20);
  run->finish(RunState::Finished, nlohmann::json::object());
  const Path path = track::log_path(run->path(), "a1-r0");
  const std::string whole = *read_file(path);
  const auto all = position_in(path);
  ASSERT_TRUE(write_file_atomic(path, whole.substr(0, whole.size() - 7)));
  WatchedRun watched(run->path());
  EXPECT_EQ(watched.look(target())->records, all.next_seq - 1);
  ASSERT_TRUE(write_file_atomic(path, whole));
  EXPECT_EQ(watched.look(target())->records, 1U);
  expect_same(run->path(), "a1-r0");
}

TEST_F(RunWatchTest, the_next_attempt_of_a_finished_run_is_noticed) {
  const auto first = make_run("a");
  log(*first, 1, 30);
  first->finish(RunState::Interrupted, nlohmann::json::object());
  WatchedRun watched(first->path());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(watched.look(target()));
  }
  auto attempt = track::Attempt::take(first->path());
  ASSERT_TRUE(attempt);
  const auto second = track::Run::resume(start_of("a"), std::move(*attempt), {.step = 20});
  ASSERT_TRUE(second);
  log(**second, 21, 40);
  ASSERT_TRUE(watched.look(target()));
  EXPECT_TRUE(watched.is_busy());
  expect_same(first->path(), "a1-r0");
  expect_same(first->path(), "a2-r0");
  expect_same_curve(first->path());
}

TEST_F(RunWatchTest, what_somebody_else_sent_meanwhile_is_not_taken_twice) {
  const auto run = make_run("a");
  log(*run, 1, 10);
  WatchedRun watched(run->path());
  ASSERT_TRUE(watched.look(target()));
  const auto before = store_->find_source({"p", "a"}, "a1-r0");
  log(*run, 11, 20);
  auto reader = track::EventLogReader::open(track::log_path(run->path(), "a1-r0"));
  reader->seek(reader->first_offset() + before->offset);
  store::Frames frames{
      .run = {"p", "a"}, .writer = "a1-r0", .from_seq = before->next_seq, .bytes = {}};
  for (auto frame = reader->next_frame(); *frame; frame = reader->next_frame()) {
    frames.bytes += **frame;
  }
  ASSERT_TRUE(store_->ingest(std::move(frames), kNow));
  EXPECT_EQ(watched.look(target())->records, 0U);
  log(*run, 21, 25);
  EXPECT_EQ(watched.look(target())->records, 5U);
  expect_same(run->path(), "a1-r0");
}

TEST_F(RunWatchTest, damage_costs_what_lies_behind_it_and_no_other_log) {
  const auto first = make_run("a");
  log(*first, 1, 30);
  first->finish(RunState::Interrupted, nlohmann::json::object());
  auto attempt = track::Attempt::take(first->path());
  const auto second = track::Run::resume(start_of("a"), std::move(*attempt), {.step = 30});
  log(**second, 31, 40);
  const Path path = track::log_path(first->path(), "a1-r0");
  flip_byte(path, std::filesystem::file_size(path) / 2);
  WatchedRun watched(first->path());
  const auto look = watched.look(target());
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().kind, ErrorKind::Corrupt);
  expect_same(first->path(), "a1-r0");
  expect_same(first->path(), "a2-r0");
  EXPECT_GT(store_->find_source({"p", "a"}, "a1-r0")->next_seq, 5U);
}

TEST_F(RunWatchTest, folders_are_found_and_a_second_watch_goes_on) {
  const auto wait_for = [](const RunWatch& watch, std::uint64_t records) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (watch.counts().records < records && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    return watch.counts().records;
  };
  const WatchOptions options{.dirs = {runs_}, .shortest = std::chrono::milliseconds(20)};
  const auto early = make_run("early");
  log(*early, 1, 10);
  std::uint64_t before = 0;
  {
    const RunWatch watch(*store_, blobs_.get(), options, now_us_);
    const auto late = make_run("late");
    log(*late, 1, 10);
    late->finish(RunState::Finished, nlohmann::json::object());
    before = position_in(track::log_path(early->path(), "a1-r0")).next_seq +
             position_in(track::log_path(late->path(), "a1-r0")).next_seq;
    EXPECT_EQ(wait_for(watch, before), before);
    EXPECT_EQ(watch.counts().runs, 2U);
  }
  log(*early, 11, 20);
  const RunWatch watch(*store_, blobs_.get(), options, now_us_);
  EXPECT_EQ(wait_for(watch, 10), 10U);
  expect_same(early->path(), "a1-r0");
}

// What another user may plant in a folder that the server watches.
TEST_F(RunWatchTest, nothing_is_read_through_links_and_pipes_in_a_run_folder) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(make_dirs(folder_ / "private"));
  ASSERT_TRUE(write_file_atomic(folder_ / "private" / "shadow.png", "secret"));
  ASSERT_TRUE(write_file_atomic(folder_ / "private" / "config.yaml", "password_file: secret\n"));
  const auto run = make_run("a");
  log(*run, 1, 10);
  const std::array<std::uint8_t, 3> pixel = {1, 2, 3};
  run->save_image("dot", pixel, 1, 1, 3);
  run->finish(RunState::Finished, nlohmann::json::object());
  const Path& path = run->path();
  fs::create_symlink(folder_ / "private" / "shadow.png", path / "media" / "link.png");
  fs::create_directory_symlink(folder_ / "private", path / "media" / "folder");
  ASSERT_EQ(::mkfifo((path / "media" / "pipe.png").c_str(), 0600), 0);
  fs::create_symlink(folder_ / "private" / "shadow.png", path / "code.x.patch");
  fs::remove(path / "config.yaml");
  fs::create_symlink(folder_ / "private" / "config.yaml", path / "config.yaml");
  fs::remove(path / "config.user.yaml");
  fs::create_symlink(folder_ / "private" / "config.yaml", path / "config.user.yaml");
  ASSERT_EQ(::mkfifo((path / "events-a1-r7.klog").c_str(), 0600), 0);
  fs::remove(path / "environment.json");
  ASSERT_EQ(::mkfifo((path / "environment.json").c_str(), 0600), 0);
  WatchedRun watched(path);
  const auto look = watched.look(target());
  ASSERT_TRUE(look) << look.error().message;
  std::vector<std::string> files;
  const auto listed = store_->list_files({"p", "a"});
  for (const store::RunFile& file : *listed) {
    files.push_back(file.path);
  }
  EXPECT_THAT(files, testing::ElementsAre("media/dot.png"));
  EXPECT_EQ(store_->find_run({"p", "a"})->config, nlohmann::json::object());
  expect_same(path, "a1-r0");
}

TEST_F(RunWatchTest, a_run_whose_parts_lie_elsewhere_is_not_read_at_all) {
  namespace fs = std::filesystem;
  const auto run = make_run("a");
  log(*run, 1, 10);
  run->finish(RunState::Finished, nlohmann::json::object());
  const Path path = run->path();
  for (const char* name : {"run.json", "events-a1-r0.klog"}) {
    fs::rename(path / name, folder_ / name);
    fs::create_symlink(folder_ / name, path / name);
    WatchedRun watched(path);
    const auto look = watched.look(target());
    ASSERT_FALSE(look) << name;
    EXPECT_THAT(look.error().message, testing::HasSubstr("symbolic link"));
    EXPECT_THAT(look.error().message, testing::HasSubstr((path / name).string()));
    fs::remove(path / name);
    fs::rename(folder_ / name, path / name);
  }
}

TEST_F(RunWatchTest,
       links_to_projects_and_runs_are_not_followed_but_the_watched_folder_may_be_one) {
  namespace fs = std::filesystem;
  track::RunStart hidden = start_of("hidden");
  hidden.dir = folder_ / "private";
  auto made = track::Run::create(hidden);
  ASSERT_TRUE(made);
  log(**made, 1, 10);
  const auto own = make_run("own");
  log(*own, 1, 10);
  fs::create_directory_symlink(folder_ / "private" / "p", runs_ / "linked");
  fs::create_directory_symlink((*made)->path(), runs_ / "p" / "hidden");
  fs::create_directory_symlink(runs_, folder_ / "watched");
  EXPECT_FALSE(WatchedRun(runs_ / "p" / "hidden").look(target()));
  EXPECT_FALSE(WatchedRun(runs_ / "linked" / "hidden").look(target()));
  const WatchOptions options{.dirs = {folder_ / "watched"},
                             .shortest = std::chrono::milliseconds(20)};
  const RunWatch watch(*store_, blobs_.get(), options, now_us_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (watch.counts().records < 10 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(watch.counts().runs, 1U);
  expect_same(own->path(), "a1-r0");
  EXPECT_FALSE(store_->find_facts({"p", "hidden"}));
}

}  // namespace
}  // namespace kedge::server
