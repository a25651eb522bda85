#include "track/run.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"
#include "track/event_log.h"
#include "track/internal/csv_table.h"
#include "track/names.h"

namespace kedge::track {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class RunTest : public testing::Test {
 protected:
  using Run = track::Run;  // testing::Test has a function of that name

  RunTest() {
    start_.dir = folder_.path();
    start_.project = "p";
    start_.csv = "metrics.csv";
    start_.config_file_text = "# mine\nepochs: 3\n";
    start_.effective_config_text = "train:\n  epochs: 3\n";
    start_.environment = {{"git", {{"revision", "abc"}, {"patch", "--- a\n+++ b\n"}}}};
  }

  std::unique_ptr<Run> make() {
    auto run = Run::create(start_);
    KEDGE_CHECK(run.has_value(), "a test's run can be made");
    return std::move(*run);
  }

  static std::vector<nlohmann::json> events(const Path& path) {
    auto reader = EventLogReader::open(path / "events-a1-r0.klog");
    EXPECT_TRUE(reader);
    std::vector<nlohmann::json> records;
    while (auto record = *reader->next()) {
      EXPECT_EQ((*record)["seq"], records.size());
      records.push_back(std::move(*record));
    }
    return records;
  }

  static nlohmann::json json(const Path& path) { return nlohmann::json::parse(*read_file(path)); }

  ScratchFolder folder_;
  RunStart start_;
};

TEST_F(RunTest, the_folder_holds_what_is_known_before_the_first_step) {
  const auto run = make();
  EXPECT_EQ(run->path(), folder_ / "p" / run->id());
  EXPECT_THAT(run->id(), MatchesRegex("[0-9]{8}-[0-9]{6}-[a-z0-9]{6}"));
  EXPECT_THAT(run->name(), MatchesRegex("[a-z]+-[a-z]+-[0-9]+"));
  EXPECT_EQ(*read_file(run->path() / "config.user.yaml"), start_.config_file_text);
  EXPECT_EQ(*read_file(run->path() / "config.yaml"), start_.effective_config_text);
  EXPECT_EQ(*read_file(run->path() / "code.patch"), "--- a\n+++ b\n");
  EXPECT_EQ(json(run->path() / "environment.json")["git"],
            (nlohmann::json{{"revision", "abc"}, {"patch_file", "code.patch"}}));
  const auto description = json(run->path() / "run.json");
  EXPECT_EQ(description["state"], "running");
  EXPECT_EQ(description["version"], 1);
  EXPECT_TRUE(std::filesystem::is_directory(run->path() / "media"));
  EXPECT_TRUE(std::filesystem::is_directory(run->path() / "checkpoints"));
}

TEST_F(RunTest, everything_logged_is_in_the_log_in_order) {
  const auto run = make();
  run->log(1, std::vector<Scalar>{{"loss", 0.5}, {"lr", 1e-3}});
  run->console("epoch 1");
  run->log_confusion("val", 1, {"cat", "dog"}, {{3, 1}, {0, 4}});
  run->log_table(
      "predictions", 1, {"image", "label"},
      nlohmann::json::array({nlohmann::json::array({"a", 1}), nlohmann::json::array({"b", 2})}));
  run->log_epoch(1, 10, std::vector<Scalar>{{"val/loss", std::nan("")}});
  run->finish(RunState::Finished, {{"best", 0.9}});
  const auto records = events(run->path());
  std::vector<std::string> types;
  for (const auto& record : records) {
    types.push_back(record["type"]);
  }
  EXPECT_THAT(types, ElementsAre("attempt", "config", "scalars", "console", "confusion", "table",
                                 "scalars", "summary", "state"));
  EXPECT_EQ(records[2]["body"], (nlohmann::json{{"loss", 0.5}, {"lr", 1e-3}}));
  EXPECT_EQ(records[2]["step"], 1);
  EXPECT_EQ(records[4]["body"]["counts"][1][1], 4);
  EXPECT_EQ(records[5]["body"]["rows"][1][0], "b");
  EXPECT_TRUE(std::isnan(records[6]["body"]["val/loss"].get<double>()));
  EXPECT_EQ(records[6]["body"]["epoch"], 1);
  EXPECT_EQ(records[8]["body"]["state"], "finished");
  EXPECT_EQ(*read_file(run->path() / "console.log"), "epoch 1\n");
  const auto description = json(run->path() / "run.json");
  EXPECT_EQ(description["state"], "finished");
  EXPECT_EQ(description["summary"]["best"], 0.9);
  EXPECT_EQ(description["dropped"], 0);
  EXPECT_FALSE(description.contains("trouble"));
}

TEST_F(RunTest, every_kind_of_record_has_its_own_type) {
  const auto run = make();
  run->log(3, std::vector<Scalar>{{"loss", 1}});
  run->log_histogram("w", 4, std::vector<double>{-1, 0, 2.5}, std::vector<std::int64_t>{7, 1});
  run->log_text("note", 5, "a < b");
  run->log_html("page", 6, "<b>x</b>");
  run->alert("diverging", "loss is 1e9", AlertLevel::Warning);
  run->log_artifact({.name = "best",
                     .type = "checkpoint",
                     .location = "s3://bucket/best",
                     .digest = "sha256:00",
                     .size = std::uint64_t{5} << 30U},
                    7);
  run->set_tags({"paper", "v2"});
  run->log_system(std::vector<Scalar>{{"cpu/percent", 50}});
  run->finish(RunState::Finished, {});
  std::vector<nlohmann::json> kept;
  for (const auto& record : events(run->path())) {
    kept.push_back({record["type"], record["step"], record["body"]});
  }
  ASSERT_EQ(kept.size(), 12U);
  const nlohmann::json bodies = {
      {"histogram", 4, {{"key", "w"}, {"edges", {-1, 0, 2.5}}, {"counts", {7, 1}}}},
      {"text", 5, {{"key", "note"}, {"text", "a < b"}}},
      {"html", 6, {{"key", "page"}, {"html", "<b>x</b>"}}},
      {"alert", 3, {{"title", "diverging"}, {"text", "loss is 1e9"}, {"level", "warning"}}},
      {"artifact",
       7,
       {{"name", "best"},
        {"type", "checkpoint"},
        {"location", "s3://bucket/best"},
        {"digest", "sha256:00"},
        {"size", 5368709120}}},
      {"tags", 3, {{"tags", {"paper", "v2"}}}},
      {"system", 3, {{"cpu/percent", 50}}}};
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(kept[i + 3], bodies[i]) << i;
  }
  EXPECT_EQ(json(run->path() / "run.json")["tags"], (nlohmann::json{"paper", "v2"}));
}

TEST_F(RunTest, histograms_that_are_none_are_trouble_not_records) {
  const auto run = make();
  testing::internal::CaptureStderr();
  run->log_histogram("w", 1, std::vector<double>{0, 1}, std::vector<std::int64_t>{1, 2});
  run->log_histogram("w", 1, std::vector<double>{}, std::vector<std::int64_t>{});
  run->log_histogram("w", 1, std::vector<double>{1, 0}, std::vector<std::int64_t>{1});
  run->finish(RunState::Finished, {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("histogram 'w' has 2 counts"));
  EXPECT_EQ(json(run->path() / "run.json")["trouble"]["count"], 3);
}

TEST_F(RunTest, the_machine_is_sampled_at_once_and_then_every_so_often) {
  start_.system_every_s = 0.002;
  const auto run = make();
  std::size_t count = 0;
  nlohmann::json first;
  while (count < 3) {
    ASSERT_TRUE(run->sync());
    count = 0;
    for (const auto& record : events(run->path())) {
      if (record["type"] == "system" && count++ == 0) {
        first = record["body"];
      }
    }
  }
  run->finish(RunState::Finished, {});
  EXPECT_GT(first["memory/total_bytes"], 1e6);
  EXPECT_FALSE(first.contains("cpu/percent"));  // needs two samples
}

TEST_F(RunTest, a_call_with_many_values_loses_none) {
  const auto run = make();
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back("layer/" + std::to_string(i));
  }
  std::vector<Scalar> scalars;
  for (int i = 0; i < 100; ++i) {
    scalars.push_back({names[static_cast<std::size_t>(i)], i * 1.0});
  }
  run->log(5, scalars);
  run->finish(RunState::Finished, {});
  nlohmann::json all = nlohmann::json::object();
  for (const auto& record : events(run->path())) {
    if (record["type"] == "scalars") {
      all.update(record["body"]);
    }
  }
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(all["layer/99"], 99);
}

TEST_F(RunTest, values_that_overflow_the_ring_are_counted_exactly) {
  const auto run = make();
  constexpr int kThreads = 3;
  constexpr int kCalls = 30000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        run->log(i, std::vector<Scalar>{{"x", 1.0}});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  run->finish(RunState::Finished, {});
  std::uint64_t kept = 0;
  double reported = 0;
  for (const auto& record : events(run->path())) {
    const auto& body = record["body"];
    kept += body.contains("x") ? 1 : 0;
    reported = body.contains("kedge/dropped") ? body["kedge/dropped"].get<double>() : reported;
  }
  const std::uint64_t dropped = json(run->path() / "run.json")["dropped"];
  EXPECT_EQ(kept + dropped, std::uint64_t{kThreads} * kCalls);
  EXPECT_EQ(reported, static_cast<double>(dropped));
}

TEST_F(RunTest, without_finish_the_values_are_there_and_the_state_is_still_running) {
  Path path;
  {
    const auto run = make();
    path = run->path();
    run->log(1, std::vector<Scalar>{{"loss", 1}});
  }
  EXPECT_EQ(events(path).size(), 3U);
  EXPECT_EQ(json(path / "run.json")["state"], "running");
}

TEST_F(RunTest, images_get_safe_names_of_their_own) {
  const auto run = make();
  const std::vector<std::uint8_t> pixels(2 * 3 * 3, 200);
  EXPECT_EQ(run->save_image("val/../x y", pixels, 2, 3, 3), "media/val-..-x-y.png");
  EXPECT_EQ(run->save_image("val/../x y", pixels, 2, 3, 3), "media/val-..-x-y-2.png");
  EXPECT_EQ(run->save_image("../..", pixels, 2, 3, 3), "media/image.png");
  EXPECT_FALSE(run->save_image("wrong", pixels, 3, 3, 3));
  run->finish(RunState::Finished, {});
  const std::string png = *read_file(run->path() / "media/val-..-x-y-2.png");
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  EXPECT_THAT(json(run->path() / "run.json")["trouble"]["first"], HasSubstr("image 'wrong'"));
}

TEST_F(RunTest, names_that_are_no_folders_and_ids_in_use_are_usage_errors) {
  for (const char* bad : {"", "a/b", "..", ".hidden", "-x", "a b"}) {
    start_.project = bad;
    EXPECT_EQ(Run::create(start_).error().kind, ErrorKind::Usage) << bad;
  }
  start_.project = "p";
  start_.id = "mine";
  EXPECT_TRUE(Run::create(start_));
  const auto second = Run::create(start_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Usage);
  EXPECT_THAT(second.error().message, HasSubstr("run 'mine' exists already"));
}

TEST_F(RunTest, a_folder_that_cannot_be_made_says_how_to_choose_another) {
  std::ofstream(folder_ / "file") << "x";
  start_.dir = folder_ / "file" / "runs";
  const auto run = Run::create(start_);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr((folder_ / "file").string()));
  EXPECT_THAT(run.error().hint, HasSubstr("track.dir"));
}

TEST_F(RunTest, a_full_disk_never_stops_the_trainer) {
  const SmallDisk disk(512);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  start_.dir = disk.path();
  const auto run = make();
  testing::internal::CaptureStderr();
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    run->log(i, std::vector<Scalar>{{"loss", 1.0 / i}});
    run->console(line);
    run->log_epoch(i, i, std::vector<Scalar>{{"val/loss", 1.0 / i}});
  }
  run->finish(RunState::Finished, {});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("No space left on device; training goes on"));
  EXPECT_EQ(said.find("warning"), said.rfind("warning"));  // once
  EXPECT_GT(events(run->path()).size(), 10U);
}

TEST_F(RunTest, a_folder_removed_while_running_is_survived) {
  const auto run = make();
  testing::internal::CaptureStderr();
  std::filesystem::remove_all(run->path());
  run->log(1, std::vector<Scalar>{{"loss", 1}});
  run->log_epoch(1, 1, std::vector<Scalar>{{"loss", 1}});
  run->finish(RunState::Failed, {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("No such file or directory"));
}

TEST_F(RunTest, late_columns_leave_empty_cells_above) {
  CsvTable csv(folder_ / "m.csv");
  ASSERT_TRUE(csv.add_row(1, 10, {{"b", 0.1}, {"a", 1e-30}}));
  ASSERT_TRUE(csv.add_row(2, 20, {{"a", 3}, {"b", 1.0 / 3}}));
  ASSERT_TRUE(csv.add_row(3, 30, {{"say \"x\", y", std::numeric_limits<double>::infinity()}}));
  ASSERT_TRUE(csv.add_row(4, 40, {{"b", -2.5}}));
  EXPECT_EQ(*read_file(folder_ / "m.csv"),
            "epoch,step,b,a,\"say \"\"x\"\", y\"\n"
            "1,10,0.1,1e-30,\n"
            "2,20,0.3333333333333333,3,\n"
            "3,30,,,inf\n"
            "4,40,-2.5,,\n");
}

TEST_F(RunTest, made_up_ids_sort_by_time) {
  Random random(7);
  EXPECT_THAT(make_run_id(1794716493, random), MatchesRegex("20261115-042133-[a-z0-9]{6}"));
}

TEST(Environment, says_where_a_run_ran_without_the_environment) {
  ::setenv("TEST_JOB", "4711", 1);
  ::setenv("WANDB_API_KEY", "do-not-keep-me", 1);
  const char* argv[] = {"kedge", "train"};
  const nlohmann::json environment = collect_environment(2, argv);
  ::unsetenv("TEST_JOB");
  ::unsetenv("WANDB_API_KEY");
  EXPECT_EQ(environment["job"]["TEST_JOB"], "4711");
  EXPECT_EQ(environment.dump().find("do-not-keep-me"), std::string::npos);
  EXPECT_EQ(environment["args"], (nlohmann::json{"kedge", "train"}));
  EXPECT_GT(environment["memory_bytes"], 1 << 20);
  EXPECT_FALSE(environment["os"].get<std::string>().empty());
  EXPECT_FALSE(environment["kernel"].get<std::string>().empty());
}

}  // namespace
}  // namespace kedge::track
