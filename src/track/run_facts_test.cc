#include "track/run_facts.h"

#include <array>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "track/attempt.h"
#include "track/internal/yaml_json.h"
#include "track/run.h"

namespace kedge::track {
namespace {

using nlohmann::json;
using testing::ElementsAre;

class RunFactsTest : public testing::Test {
 protected:
  std::unique_ptr<track::Run> make_run(const std::string& id) {
    RunStart start;
    start.dir = folder_.path();
    start.project = "p";
    start.id = id;
    start.name = "calm-lake-7";
    start.tags = {"paper"};
    start.effective_config_text = "optimizer:\n  lr: 0.1\n";
    start.environment = {{"host", "node1"}, {"user", "ann"}};
    auto run = track::Run::create(start);
    EXPECT_TRUE(run);
    return std::move(*run);
  }

  ScratchFolder folder_;
};

TEST_F(RunFactsTest, a_finished_run_tells_all) {
  const auto run = make_run("a");
  run->finish(RunState::Finished, {{"steps", 4}});
  const auto facts = read_run_facts(run->path());
  ASSERT_TRUE(facts);
  const json& told = *facts;
  EXPECT_EQ(told["name"], "calm-lake-7");
  EXPECT_EQ(told["state"], "finished");
  EXPECT_EQ(told["tags"], json({"paper"}));
  EXPECT_EQ(told["config"], json::parse(R"({"optimizer": {"lr": 0.1}})"));
  EXPECT_EQ(told["environment"]["host"], "node1");
  EXPECT_GT(told["created_us"], 1'700'000'000'000'000);
  EXPECT_GE(told["ended_us"], told["created_us"]);
  ASSERT_EQ(told["attempts"].size(), 1U);
  EXPECT_EQ(told["attempts"][0]["number"], 1);
  EXPECT_EQ(told["attempts"][0]["state"], "finished");
  EXPECT_EQ(read_run_name(run->path()), (RunName{"p", "a"}));
}

TEST_F(RunFactsTest, a_run_that_was_killed_is_not_running) {
  Path path;
  {
    const auto run = make_run("a");
    path = run->path();
    EXPECT_EQ((*read_run_facts(path))["state"], "running");
  }
  EXPECT_EQ((*read_run_facts(path))["state"], "killed");
}

TEST_F(RunFactsTest, the_stamp_changes_with_the_state_and_not_with_time) {
  const auto run = make_run("a");
  const auto before = stamp_run_facts(run->path());
  const std::array<Scalar, 1> values = {{{.key = "loss", .value = 1}}};
  run->log(1, values);
  ASSERT_TRUE(run->sync());
  EXPECT_EQ(stamp_run_facts(run->path()), before);
  run->finish(RunState::Failed, json::object());
  EXPECT_NE(stamp_run_facts(run->path()), before);
}

TEST_F(RunFactsTest, writers_come_in_the_order_of_attempts) {
  for (const char* name : {"events-a10-r0.klog", "events-a2-r0.klog", "events-a2-r11.klog",
                           "events-a2-r3.klog", "events-x.klog", "events-.klog", "other.klog"}) {
    ASSERT_TRUE(write_file_atomic(folder_ / name, "x"));
  }
  EXPECT_THAT(list_writers(folder_.path()), ElementsAre("a2-r0", "a2-r3", "a2-r11", "a10-r0", "x"));
}

TEST_F(RunFactsTest, files_are_media_and_what_made_the_run) {
  for (const char* name : {"media", "checkpoints/step-1"}) {
    ASSERT_TRUE(make_dirs(folder_ / name));
  }
  for (const char* name :
       {"run.json", "config.yaml", "config.user.yaml", "code.patch", "metrics.csv", "console.log",
        "media/a.png", "media/b.png.tmp123", "checkpoints/step-1/model.safetensors"}) {
    ASSERT_TRUE(write_file_atomic(folder_ / name, "x"));
  }
  EXPECT_THAT(list_run_files(folder_.path()),
              ElementsAre("code.patch", "config.user.yaml", "config.yaml", "media/a.png"));
}

TEST_F(RunFactsTest, a_folder_that_is_no_run_is_an_error) {
  EXPECT_FALSE(read_run_name(folder_.path()));
  ASSERT_TRUE(write_file_atomic(folder_ / "run.json", R"({"format": "other"})"));
  EXPECT_EQ(read_run_name(folder_.path()).error().kind, ErrorKind::Corrupt);
  ASSERT_TRUE(write_file_atomic(folder_ / "run.json",
                                R"({"format": "kedge-run", "id": "../x", "project": "p"})"));
  EXPECT_FALSE(read_run_name(folder_.path()));
}

// Types of YAML 1.2's core schema (chapter 10.3.2 of its specification).
TEST(YamlJsonTest, plain_words_have_types_and_quoted_ones_are_text) {
  const auto json = yaml_to_json(
      "a: 1\nb: -2.5e3\nc: true\nd: 'true'\ne: \"7\"\nf: null\ng: ~\nh: [1, x, .inf]\ni: 0x1\n"
      "j: nan\nk: {l: ''}\n");
  ASSERT_TRUE(json);
  EXPECT_EQ(*json, json::parse(R"({"a": 1, "b": -2500.0, "c": true, "d": "true", "e": "7",
                                   "f": null, "g": null, "h": [1, "x", ".inf"], "i": "0x1",
                                   "j": "nan", "k": {"l": ""}})"));
  EXPECT_FALSE(yaml_to_json("a: [1"));
}

}  // namespace
}  // namespace kedge::track
