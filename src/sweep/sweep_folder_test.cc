#include "sweep/sweep_folder.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/scratch_folder.h"
#include "search/propose.h"
#include "sweep/internal/wandb_file.h"
#include "sweep/metric_source.h"
#include "sweep/trial_command.h"
#include "sweep/trial_table.h"

namespace kedge::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class SweepFolderTest : public ::testing::Test {
 protected:
  std::unique_ptr<SweepFolder> make(const std::string& text) {
    EXPECT_TRUE(write_file_atomic(scratch_.path() / "train.py", "print(1)\n"));
    auto folder =
        SweepFolder::create(scratch_.path() / "sweeps",
                            {.text = text, .file_name = "sweep.yaml", .folder = scratch_.path()});
    EXPECT_TRUE(folder) << (folder ? "" : folder.error().message);
    return std::move(folder).value();
  }

  ScratchFolder scratch_;
};

constexpr const char* kText =
    "program: train.py\nmethod: random\nmetric: {name: loss}\n"
    "parameters: {x: {min: 0.0, max: 1.0}}\n";

TEST_F(SweepFolderTest, a_number_is_handed_out_once_whoever_asks) {
  const auto folder = make(kText);
  std::vector<int> wins(8, 0);
  std::vector<std::thread> agents;
  for (std::size_t i = 0; i < wins.size(); ++i) {
    agents.emplace_back([&, i] {
      auto own = SweepFolder::open(folder->path().string(), {});
      for (std::int64_t number = 1; number <= 20; ++number) {
        wins[i] +=
            (*own)->add_trial(number, {{"x", 0.01 * static_cast<double>(i)}}).value() ? 1 : 0;
      }
    });
  }
  int total = 0;
  for (std::size_t i = 0; i < wins.size(); ++i) {
    agents[i].join();
    total += wins[i];
  }
  EXPECT_EQ(total, 20);
  EXPECT_EQ(folder->read_trials()->size(), 20);
}

TEST_F(SweepFolderTest, a_folder_without_sweeps_says_what_makes_one) {
  const auto none = SweepFolder::open("nope", scratch_.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(none.error().hint, HasSubstr("kedge sweep FILE"));
}

TEST_F(SweepFolderTest, a_trial_ends_once_and_only_a_retry_opens_it) {
  const auto folder = make(kText);
  ASSERT_TRUE(*folder->add_trial(1, {{"x", 0.5}}));
  EXPECT_EQ(folder->read_trials()->at(0).trial.state, search::TrialState::Waiting);
  EXPECT_TRUE(*folder->add_result(1, {.state = search::TrialState::Failed, .exit_code = 3}));
  EXPECT_FALSE(*folder->add_result(1, {.state = search::TrialState::Finished, .metric = 1}));
  EXPECT_EQ(folder->read_trials()->at(0).result->exit_code, 3);
  EXPECT_TRUE(*folder->retry(1));
  EXPECT_FALSE(*folder->retry(1));
  EXPECT_EQ(folder->read_trials()->at(0).failures, 1);
  EXPECT_TRUE(*folder->add_result(1, {.state = search::TrialState::Finished, .metric = 0.25}));
  EXPECT_EQ(folder->read_trials()->at(0).trial.metric, 0.25);
}

TEST_F(SweepFolderTest, a_trial_whose_result_is_not_seen_yet_is_not_run_again) {
  const auto folder = make(kText);
  auto first = folder->claim();
  ASSERT_TRUE(first && first->job);
  ASSERT_TRUE(*folder->add_result(1, {.state = search::TrialState::Finished, .metric = 1}));
  ASSERT_TRUE(first->job->lease->end(track::RunState::Finished));
  // As a file server shows it that is behind.
  const Path result = folder->trial_path(1) / "result.json";
  std::filesystem::rename(result, folder->path() / "not-seen-yet");
  const auto second = folder->claim();
  ASSERT_TRUE(second && second->job);
  EXPECT_EQ(second->job->view.trial.number, 2);
}

TEST_F(SweepFolderTest, a_failed_trial_is_open_again_after_a_retry) {
  const auto folder = make(kText);
  auto first = folder->claim();
  ASSERT_TRUE(first && first->job);
  ASSERT_TRUE(*folder->add_result(1, {.state = search::TrialState::Failed, .exit_code = 1}));
  ASSERT_TRUE(first->job->lease->end(track::RunState::Failed));
  ASSERT_TRUE(*folder->retry(1));
  const auto again = folder->claim();
  ASSERT_TRUE(again && again->job);
  EXPECT_EQ(again->job->view.trial.number, 1);
  EXPECT_EQ(again->job->lease->number(), 2);
}

TEST_F(SweepFolderTest, an_edited_sweep_file_is_refused) {
  const auto folder = make(kText);
  ASSERT_TRUE(
      write_file_atomic(folder->path() / "sweep.yaml", std::string(kText) + "run_cap: 3\n"));
  const auto again = SweepFolder::open(folder->path().string(), {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("was edited after the sweep began"));
}

TEST_F(SweepFolderTest, nothing_is_made_for_a_sweep_that_cannot_run) {
  const auto folder = SweepFolder::create(
      scratch_.path() / "sweeps",
      {.text = kText, .file_name = "sweep.yaml", .folder = scratch_.path() / "elsewhere"});
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("program 'train.py' is not in"));
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "sweeps"));
}

TEST_F(SweepFolderTest, finished_trials_of_another_sweep_can_be_taken_over) {
  const auto from = make(kText);
  const auto into = make(kText);
  ASSERT_TRUE(*from->add_trial(1, {{"x", 0.5}}));
  ASSERT_TRUE(*from->add_result(1, {.state = search::TrialState::Finished, .metric = 0.1}));
  ASSERT_TRUE(*into->add_finished(1, from->read_trials()->at(0), from->facts().id));
  const auto trials = into->read_trials();
  EXPECT_EQ(trials->at(0).trial.state, search::TrialState::Finished);
  EXPECT_EQ(trials->at(0).trial.metric, 0.1);
  EXPECT_EQ(trials->at(0).result->reused, from->facts().id + "/1");
}

TEST(TrialCommand, macros_are_filled_in_as_wandb_does) {
  const nlohmann::json values = {
      {"lr", 0.1}, {"flag", true}, {"off", false}, {"net", {{"depth", 2}}}};
  const auto expand = [&](std::vector<std::string> words) {
    return expand_macros(words, "train.py", values, "values.json").value();
  };
  EXPECT_THAT(expand({"${env}", "${program}", "${args}"}),
              ElementsAre("/usr/bin/env", "train.py", "--flag=True", "--lr=0.1", "--net.depth=2",
                          "--off=False"));
  EXPECT_THAT(expand({"${args_no_boolean_flags}"}),
              ElementsAre("--flag", "--lr=0.1", "--net.depth=2"));
  EXPECT_THAT(expand({"${args_no_hyphens}"}),
              ElementsAre("flag=True", "lr=0.1", "net.depth=2", "off=False"));
  EXPECT_THAT(expand({"x=${program}", "${args_json_file}"}),
              ElementsAre("x=train.py", "values.json"));
  EXPECT_EQ(nlohmann::json::parse(expand({"${args_json}"})[0]), values);
  EXPECT_FALSE(expand_macros({"${argz}"}, "p", values, "f"));
}

// The line that the workshop's script prints.
TEST(MetricSource, values_are_found_in_printed_lines) {
  const std::string text =
      "Epoch 1: Train Loss = 1.5000, Val Loss = 1.2500, Val Accuracy = 55.00%\n"
      "Epoch 2: Train Loss = 1.1000, Val Loss = 0.7500, Val Accuracy = 65.00%\n"
      "val_loss: 3\nloss=1e-3 x\n";
  EXPECT_THAT(scan_output(text, "Val Loss"), ElementsAre(1.25, 0.75));
  EXPECT_THAT(scan_output(text, "Val Accuracy"), ElementsAre(55, 65));
  EXPECT_THAT(scan_output(text, "loss"), ElementsAre(0.001));
  EXPECT_THAT(scan_output(text, "accuracy"), ElementsAre());
}

// Written by wandb 0.31.0: three calls of run.log({"loss": ..., "acc": {"val": ...}}).
TEST(MetricSource, a_wandb_file_is_read) {
  std::vector<std::pair<std::string, double>> seen;
  read_wandb_history(Path(KEDGE_FIXTURES) / "sweep" / "offline.wandb",
                     [&](const std::string& key, double value) { seen.emplace_back(key, value); });
  EXPECT_THAT(seen,
              ElementsAre(Pair("loss", 2.5), Pair("acc.val", 0.5), Pair("loss", 1.25),
                          Pair("acc.val", 0.75), Pair("acc.val", 0.875), Pair("loss", 0.625)));
}

TEST(TrialTable, rows_are_trials_and_empty_cells_are_not_set) {
  const auto plan = parse_trial_table("lr,optimizer,flag\n0.1,adam,True\n0.01,,False\n", "t.csv");
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->rows.size(), 2);
  EXPECT_EQ(plan->rows[0], (nlohmann::json{{"lr", 0.1}, {"optimizer", "adam"}, {"flag", true}}));
  EXPECT_EQ(plan->rows[1], (nlohmann::json{{"lr", 0.01}, {"flag", false}}));
  EXPECT_EQ(search::expected_runs(*plan), 2);
  const auto first = search::propose(*plan, {}, 5);
  EXPECT_EQ(first->values.size(), 2);
  EXPECT_EQ(first->end, "all 2 rows are handed out");
}

TEST(TrialTable, tables_that_are_none_are_refused) {
  EXPECT_FALSE(parse_trial_table("", "t.csv"));
  EXPECT_FALSE(parse_trial_table("lr\n", "t.csv"));
  EXPECT_FALSE(parse_trial_table("lr,lr\n1,2\n", "t.csv"));
  EXPECT_FALSE(parse_trial_table("lr\n1,2\n", "t.csv"));
}

}  // namespace
}  // namespace kedge::sweep
