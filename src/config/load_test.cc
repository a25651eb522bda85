#include "config/load.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/render.h"

namespace kedge::config {
namespace {

using testing::HasSubstr;

class LoadTest : public testing::Test {
 protected:
  Path write(const std::string& text) {
    const Path path = folder_ / "config.yaml";
    std::ofstream(path) << text;
    return path;
  }

  LoadedConfig load(const std::string& text, std::vector<std::string> overrides = {}) {
    auto loaded = load_config({.file = write(text), .overrides = std::move(overrides)});
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return std::move(loaded).value();
  }

  std::string error_of(const std::string& text, std::vector<std::string> overrides = {}) {
    auto loaded = load_config({.file = write(text), .overrides = std::move(overrides)});
    EXPECT_FALSE(loaded);
    if (loaded) {
      return "";
    }
    EXPECT_EQ(loaded.error().kind, ErrorKind::Usage);
    const std::string prefix = folder_.string() + "/";
    std::string message = loaded.error().message;
    for (std::size_t at = message.find(prefix); at != std::string::npos;
         at = message.find(prefix)) {
      message.erase(at, prefix.size());
    }
    return message;
  }

  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "kedge-config-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Path folder_;
};

TEST_F(LoadTest, a_file_overrides_defaults_and_keeps_its_line) {
  const LoadedConfig config = load("# a comment\ntrain:\n  epochs: 3\noptimizer: {lr: 5e-4}\n");
  EXPECT_EQ(config->train.epochs, 3);
  EXPECT_DOUBLE_EQ(config->optimizer.lr, 5e-4);
  EXPECT_THAT(config.find("train.epochs")->origin, testing::EndsWith("config.yaml:3"));
  EXPECT_EQ(config.find("loader.batch_size")->origin, "default");
}

TEST_F(LoadTest, a_sweep_section_is_for_others) {
  const LoadedConfig config =
      load("train: {epochs: 3}\nsweep: {method: grid, parameters: {optimizer.lr: [0.1, 0.2]}}\n");
  EXPECT_EQ(config->train.epochs, 3);
  EXPECT_THAT(error_of("sweep: 3\n"), HasSubstr("unknown key 'sweep'"));
}

TEST_F(LoadTest, launchers_name_the_run_by_a_variable) {
  ::setenv("KEDGE_RUN_ID", "job-17", 1);
  LoadOptions options;
  read_environment(options);
  EXPECT_EQ(options.environment.at("KEDGE__RUN__ID"), "job-17");
  ::setenv("KEDGE__RUN__ID", "mine", 1);
  LoadOptions exact;
  read_environment(exact);
  EXPECT_EQ(exact.environment.at("KEDGE__RUN__ID"), "mine");
  ::unsetenv("KEDGE__RUN__ID");
  ::setenv("KEDGE_RUN_DIR", "runs/default/job-17", 1);
  LoadOptions wrapped;
  read_environment(wrapped);
  EXPECT_FALSE(wrapped.environment.contains("KEDGE__RUN__ID"));
  ::unsetenv("KEDGE_RUN_ID");
  ::unsetenv("KEDGE_RUN_DIR");
}

TEST_F(LoadTest, later_layers_win) {
  const Path file = write("train: {epochs: 1}\nloader: {batch_size: 1, workers: 1}\nseed: 1\n");
  auto config = load_config({.file = file,
                             .environment = {{"KEDGE__LOADER__BATCH_SIZE", "2"},
                                             {"KEDGE__LOADER__WORKERS", "2"},
                                             {"KEDGE__SEED", "2"}},
                             .sweep_values = R"({"loader": {"workers": 3}, "seed": 3})",
                             .overrides = {"--seed=4"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)->train.epochs, 1);
  EXPECT_EQ((*config)->loader.batch_size, 2);
  EXPECT_EQ((*config)->loader.workers, 3);
  EXPECT_EQ((*config)->seed, 4);
  EXPECT_EQ(config->find("loader.batch_size")->origin, "$KEDGE__LOADER__BATCH_SIZE");
  EXPECT_EQ(config->find("loader.workers")->origin, "sweep");
  EXPECT_EQ(config->find("seed")->origin, "command line");
}

TEST_F(LoadTest, an_unknown_key_is_an_error_with_its_line_and_the_nearest_key) {
  EXPECT_EQ(error_of("model:\n  name: mlp\noptimzer:\n  lr: 1\n"),
            "config.yaml:3: unknown key 'optimzer'; did you mean 'optimizer'?");
  EXPECT_EQ(error_of("optimizer:\n  learning_rat: 1\n"),
            "config.yaml:2: unknown key 'optimizer.learning_rat'; did you mean 'learning_rate'?");
  EXPECT_EQ(error_of("train:\n  epoch: 1\n"),
            "config.yaml:2: unknown key 'train.epoch'; did you mean 'train.epochs'?");
}

TEST_F(LoadTest, wrong_types_and_values_are_all_reported_at_once) {
  EXPECT_EQ(error_of("train:\n  epochs: many\n  device: gpu\nloader:\n  batch_size: 0\n"),
            "config.yaml:2: train.epochs: expected a whole number, found 'many'\n"
            "config.yaml:3: train.device: expected one of auto, cuda, cpu, found 'gpu'; did you "
            "mean 'cpu'?\n"
            "config.yaml:5: loader.batch_size: 0 is too small: it must be at least 1");
}

TEST_F(LoadTest, zero_epochs_are_refused) {
  EXPECT_THAT(error_of("train: {epochs: 0}\n"), HasSubstr("0 is too small"));
}

TEST_F(LoadTest, a_key_given_twice_is_refused) {
  EXPECT_EQ(error_of("seed: 1\nseed: 2\n"), "config.yaml:2: 'seed' is given twice");
}

TEST_F(LoadTest, broken_yaml_names_the_line) {
  EXPECT_THAT(error_of("train: {epochs: 1\nseed: [\n"), HasSubstr("config.yaml:"));
}

TEST_F(LoadTest, impossible_combinations_are_refused_where_they_stand) {
  EXPECT_THAT(error_of("seed: 1\nmodel:\n  finetune: true\n"),
              HasSubstr("config.yaml:3: model.finetune: needs weights"));
  EXPECT_THAT(error_of("data: {val_ratio: 0.1, val_count: 5}\n"), HasSubstr("not both"));
}

TEST_F(LoadTest, overrides_can_hold_lists_maps_and_empty_texts) {
  const LoadedConfig config =
      load("", {"transform.train=[flip, random_crop 32 4]",
                "run.notes=", "data.mix={cifar10: 0.5, other: 1}", "train.epochs=1e1"});
  EXPECT_THAT(config->transform.train, testing::ElementsAre("flip", "random_crop 32 4"));
  EXPECT_EQ(config->data.mix.at("other"), 1.0);
  EXPECT_EQ(config->run.notes, "");
  EXPECT_EQ(config->train.epochs, 10);
}

TEST_F(LoadTest, an_override_without_a_value_says_so) {
  EXPECT_EQ(error_of("", {"train.epochs"}), "command line: 'train.epochs' is not key=value");
}

TEST_F(LoadTest, the_effective_file_reads_back_to_the_same_values) {
  const LoadedConfig first = load(
      "run: {name: 'yes', notes: \"two\\nlines: #x\"}\nmodel: {dropout: 0.1}\n"
      "job: {time: 2h30m, memory: 1.5GiB, env: {A: '1'}}\noptimizer: {lr: 0.1}\n");
  const std::string text = render_effective(first);
  const LoadedConfig second = load(text);
  EXPECT_EQ(render_effective(second), text);
  EXPECT_EQ(second->run.name, "yes");
  EXPECT_EQ(second->run.notes, "two\nlines: #x");
  EXPECT_EQ(second->job.memory.value, 1610612736U);
  EXPECT_EQ(second.hash(), first.hash());
}

TEST_F(LoadTest, the_hash_is_of_the_experiment_not_of_its_name) {
  EXPECT_EQ(load("run: {name: a}\n").hash(), load("run: {name: b}\n").hash());
  EXPECT_EQ(load("checkpoint: {every: 5m}\n").hash(), load("train: {max_time: 1h}\n").hash());
  EXPECT_NE(load("seed: 1\n").hash(), load("seed: 2\n").hash());
}

// The file of workshop 000's checkpointing exercise, with its keys and values.
constexpr const char* kWorkshop = R"(# Training hyperparameters
batch_size: 64
num_epochs: 10
learning_rate: 0.0005
scheduler: "step"
log_file: "training_log.txt"
# WandB settings
use_wandb: true
wandb_mode: "online"
wandb_project: "ml-workflows-workshop"
# Data settings
data_path: /tmp/cifar10
sample_ratio: 1.0
num_workers: 4
num_classes: 10
pin_memory: true
# Model settings
model_name: "resnet50"
finetune: false
# Checkpoint settings
use_checkpoint: true
resume: true
checkpoint_path: "checkpoint.pth"
checkpoint_every: 2
simulate_crash: false
upload_checkpoint: false
)";

TEST_F(LoadTest, the_workshop_file_means_what_it_meant) {
  const LoadedConfig config = load(kWorkshop);
  EXPECT_EQ(config->loader.batch_size, 64);
  EXPECT_EQ(config->train.epochs, 10);
  EXPECT_DOUBLE_EQ(config->optimizer.lr, 0.0005);
  EXPECT_EQ(config->optimizer.name, "adam");
  EXPECT_EQ(config->schedule.name, "step");
  EXPECT_EQ(config->schedule.unit, ScheduleUnit::Epoch);
  EXPECT_EQ(config->schedule.step_size, 10);
  EXPECT_EQ(config->model.name, "resnet50");
  EXPECT_EQ(config->model.stem, Stem::Imagenet);
  EXPECT_EQ(config->resume, Resume::Auto);
  EXPECT_EQ(config->checkpoint.every, "2");
  EXPECT_EQ(config->run.project, "ml-workflows-workshop");
  EXPECT_EQ(*config->data.val_ratio, 0.2);
  // Validation is not augmented, which the workshop's script got wrong.
  EXPECT_THAT(config->transform.eval, testing::ElementsAre("resize 224"));
  EXPECT_THAT(config.find("optimizer.name")->origin, HasSubstr("implied by batch_size"));
}

TEST_F(LoadTest, ranks_of_a_machine_may_be_given_in_either_section) {
  EXPECT_EQ(load("job: {ranks: 4}\n")->dist.ranks, 4);
  const LoadedConfig config = load("dist: {ranks: 4}\n", {"dist.ranks=2"});
  EXPECT_EQ(config->job.ranks, 2);
  EXPECT_EQ(config.find("job.ranks")->origin, "as dist.ranks");
  EXPECT_EQ(load("dist: {ranks: 4}\njob: {ranks: 4}\n")->job.ranks, 4);
  EXPECT_EQ(
      error_of("dist: {ranks: 4}\njob: {ranks: 1}\n"),
      "config.yaml:2: job.ranks is 1, but dist.ranks is 4 (config.yaml:1): both mean the same");
}

TEST_F(LoadTest, ranks_of_a_sweep_and_of_older_records_are_no_contradiction) {
  const auto swept =
      load_config({.file = write("job: {ranks: 4}\n"), .sweep_values = R"({"dist.ranks": 2})"});
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_EQ((*swept)->dist.ranks, 2);
  EXPECT_EQ((*swept)->job.ranks, 2);
  const auto recorded = load_config({.text = "dist: {ranks: 2}\njob: {ranks: 1}\n"});
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_EQ((*recorded)->dist.ranks, 2);
  EXPECT_EQ((*recorded)->job.ranks, 1);
}

TEST_F(LoadTest, resume_false_is_never) {
  EXPECT_EQ(load("resume: false\n")->resume, Resume::Never);
}

TEST_F(LoadTest, implied_values_give_way_to_the_file) {
  EXPECT_EQ(load("num_epochs: 1\noptimizer: {name: sgd}\n")->optimizer.name, "sgd");
}

TEST_F(LoadTest, a_flat_key_on_the_command_line_implies_nothing) {
  const LoadedConfig config = load("model: {name: mlp}\n", {"batch_size=8"});
  EXPECT_EQ(config->loader.batch_size, 8);
  EXPECT_EQ(config.find("optimizer.name")->origin, "default");
  EXPECT_TRUE(config->transform.train.empty());
}

TEST_F(LoadTest, implied_values_give_way_to_the_command_line) {
  EXPECT_EQ(load(kWorkshop, {"optimizer.name=sgd"})->optimizer.name, "sgd");
}

TEST_F(LoadTest, a_simulated_crash_happens_at_a_random_epoch) {
  EXPECT_EQ(load("simulate_crash: true\n")->train.simulate_crash, "random");
  EXPECT_EQ(load("simulate_crash: false\n")->train.simulate_crash, "never");
}

TEST_F(LoadTest, tabs_are_named_as_tabs) {
  EXPECT_EQ(error_of("train:\n\tepochs: 3\n"),
            "config.yaml:2: the line begins with a tab; YAML is indented with spaces");
}

TEST_F(LoadTest, a_file_without_a_value_is_no_config) {
  for (const char* text : {"", "# nothing yet\n", "sweep: {method: grid}\n"}) {
    EXPECT_THAT(error_of(text), HasSubstr("gives no value of a config")) << text;
  }
  EXPECT_EQ(load("", {"data.name=mnist"})->data.name, "mnist");
}

TEST_F(LoadTest, keys_that_are_off_need_no_note) {
  EXPECT_TRUE(load("upload_checkpoint: false\n").notes.empty());
  EXPECT_THAT(load("upload_checkpoint: true\n").notes, testing::SizeIs(1));
}

TEST_F(LoadTest, agents_pass_flat_keys_with_dashes) {
  EXPECT_DOUBLE_EQ(load(kWorkshop, {"--learning_rate=0.01"})->optimizer.lr, 0.01);
}

TEST_F(LoadTest, texts_come_back_as_they_were_however_odd_or_long) {
  for (const std::string text :
       {"a b",  "No", "~",   ".inf", ".NaN", "null", "1e3",     "#x", "a: b",
        "a #b", "-",  "...", "'",    "y",    "/",    ".",       "x.", "[",
        "*a",   "&a", "!t",  "a ",   " a",   "a\nb", "\xC3\xA4"}) {
    const LoadedConfig config = load("run: {notes: " + nlohmann::json(text).dump() + "}\n");
    EXPECT_EQ(config->run.notes, text);
    const auto again = load_config({.text = render_effective(config)});
    ASSERT_TRUE(again) << text;
    EXPECT_EQ((*again)->run.notes, text);
  }
  const std::string longest(300'000, 'a');
  EXPECT_NE(render_effective(load("run: {notes: " + longest + "}\n")).find(longest),
            std::string::npos);
}

}  // namespace
}  // namespace kedge::config
