// A step can be captured as a CUDA graph only when nothing in it reads a value back from the
// device. Here every model, loss, optimizer and schedule takes steps on the CPU with a capture_with
// that looks for such reads, as a GPU's would refuse them.
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include "core/scratch_folder.h"
#include "device/plugin.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "train/internal/waits.h"
#include "train/optimizer.h"
#include "train/run_training.h"
#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

using testing::IsEmpty;

// Does the work of a step once, when it is captured, and notes what it reads back.
class StrictRecorder : public device::Plugin {
 public:
  void leave_default_stream() override {}

  std::unique_ptr<device::Graph> capture(const std::function<void()>& work) override {
    class Done : public device::Graph {
     public:
      void replay() override {}
    };

    ++captured;
    const Waits::Watch watch(&waits);
    work();
    return std::make_unique<Done>();
  }

  std::string target() const override { return "test"; }

  Result<std::string> compile(const std::string&, const std::string&) override { return ""; }

  Result<std::unique_ptr<device::Kernel>> load(const std::string&, const std::string&) override {
    return fail(ErrorKind::Unavailable, "no kernels here");
  }

  Waits waits{at::kCPU};
  int captured = 0;
};

constexpr const char* kConfig = R"(
data: {name: synthetic, samples: 60, image_size: 8, val_count: 2}
model: {name: mlp, hidden: [16], layers: 2, width: 48, stem: imagenet}
loader: {batch_size: 2, workers: 0}
train: {max_steps: 12, threads: 1, device: cpu}
track: {system_every: 0, predictions: 0, confusion: false}
checkpoint: {enabled: false}
)";

class StepSafety : public testing::Test {
 protected:
  using Overrides = std::vector<std::string>;

  std::map<std::string, std::int64_t> reads_of(Overrides overrides, int captures = 1) {
    StrictRecorder capture_with;
    overrides.push_back("track.dir=" + folder_.path().string());
    overrides.emplace_back("resume=never");
    const auto config = config::load_config({.text = kConfig, .overrides = std::move(overrides)});
    if (!config) {
      ADD_FAILURE() << config.error().message;
      return {};
    }
    const auto done = run_training(*config, {.host_plugin = &capture_with});
    EXPECT_TRUE(done) << done.error().message;
    // More than one of a kind: on the CPU batches lie where the loader made them.
    EXPECT_GE(capture_with.captured, captures);
    return capture_with.waits.found();
  }

  // What the model takes: images of some size, texts, or texts with labels.
  Overrides data_for(const std::string& model) const {
    config::ModelConfig config;
    config.name = model;
    config.layers = 2;
    config.width = 48;
    config.hidden = {16};
    for (const std::int64_t side : {32, 64, 224}) {
      if (nn::make_model(config, {.height = side, .width = side, .channels = 3, .classes = 10})) {
        return {"data.image_size=" + std::to_string(side)};
      }
    }
    if (!nn::make_model(config, {.context = 8, .vocab = 16})) {
      return texts_with_labels();
    }
    const Path file = folder_ / "text.txt";
    EXPECT_TRUE(write_file_atomic(file, std::string(2000, 'x')));
    return {"data.name=text", "data.path=" + file.string(), "data.context=8"};
  }

  Overrides texts_with_labels() const {
    const Path file = folder_ / "labelled.jsonl";
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += i % 2 == 0 ? "{\"text\": \"a good one\", \"label\": \"up\"}\n"
                         : "{\"text\": \"a bad one\", \"label\": \"down\"}\n";
    }
    EXPECT_TRUE(write_file_atomic(file, text));
    return {"data.name=labelled_text", "data.path=" + file.string(),
            std::string("data.tokenizer=") + KEDGE_FIXTURES + "/data/tokenizers/llama3.json",
            "data.context=16", "train.max_steps=40"};
  }

  Overrides pairs_of_answers() const {
    const Path file = folder_ / "pairs.jsonl";
    std::string text;
    for (int i = 0; i < 8; ++i) {
      text += R"({"prompt": "a", "chosen": "yes", "rejected": "no"})"
              "\n";
    }
    EXPECT_TRUE(write_file_atomic(file, text));
    return {"data.name=preference",
            "loss.name=dpo",
            "data.path=" + file.string(),
            std::string("data.tokenizer=") + KEDGE_FIXTURES + "/data/tokenizers/llama3.json",
            "data.context=16",
            "model.name=gpt-nano",
            "model.heads=2"};
  }

  ScratchFolder folder_;
};

class StepOfModel : public StepSafety, public testing::WithParamInterface<std::string> {};

TEST_P(StepOfModel, reads_nothing_back) {
  Overrides overrides = data_for(GetParam());
  overrides.push_back("model.name=" + GetParam());
  EXPECT_THAT(reads_of(overrides), IsEmpty());
}

class StepOfOptimizer : public StepSafety, public testing::WithParamInterface<std::string> {};

TEST_P(StepOfOptimizer, reads_nothing_back) {
  const Overrides overrides = {"optimizer.name=" + GetParam(), "optimizer.weight_decay=0.1",
                               "train.clip_norm=1"};
  const bool counts_on_host = GetParam() == "adafactor";  // and says so: it is never captured
  EXPECT_THAT(reads_of(overrides, counts_on_host ? 0 : 1), IsEmpty());
}

class StepOfSchedule : public StepSafety, public testing::WithParamInterface<std::string> {};

TEST_P(StepOfSchedule, reads_nothing_back) {
  Overrides overrides = {"schedule.name=" + GetParam()};
  if (GetParam() == "multi_step") {
    overrides.emplace_back("schedule.milestones=[1, 2]");
  }
  EXPECT_THAT(reads_of(overrides), IsEmpty());
}

class StepOfLoss : public StepSafety, public testing::WithParamInterface<std::string> {};

TEST_P(StepOfLoss, reads_nothing_back) {
  if (GetParam() == "dpo") {
    EXPECT_THAT(reads_of(pairs_of_answers()), IsEmpty());
    return;
  }
  EXPECT_THAT(reads_of({"loss.name=" + GetParam()}), IsEmpty());
}

template <typename Registry>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : Registry::all()) {
    names.emplace_back(name);
  }
  return names;
}

std::string as_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, StepOfModel, testing::ValuesIn(names_of<nn::Models>()), as_test_name);
INSTANTIATE_TEST_SUITE_P(All, StepOfOptimizer, testing::ValuesIn(names_of<Optimizers>()),
                         as_test_name);
INSTANTIATE_TEST_SUITE_P(All, StepOfSchedule, testing::ValuesIn(names_of<Schedules>()),
                         as_test_name);
INSTANTIATE_TEST_SUITE_P(All, StepOfLoss, testing::ValuesIn(names_of<nn::Losses>()), as_test_name);

TEST_F(StepSafety, with_mixup_average_smoothing_and_dropout_reads_nothing_back) {
  EXPECT_THAT(reads_of({"train.mixup=0.2", "ema.decay=0.9", "loss.label_smoothing=0.1",
                        "model.dropout=0.1"}),
              IsEmpty());
}

TEST_F(StepSafety, with_accumulation_and_bf16_reads_nothing_back) {
  // The first and the last batch of a group are two kinds of work.
  EXPECT_THAT(reads_of({"train.accumulate=2", "train.precision=bf16", "train.clip_norm=1"}, 2),
              IsEmpty());
}

TEST_F(StepSafety, histograms_are_left_out_of_what_is_captured) {
  EXPECT_THAT(reads_of({"track.watch=all", "track.watch_every=2", "train.max_steps=24"}),
              IsEmpty());
}

TEST_F(StepSafety, a_batch_of_the_validation_reads_nothing_back) {
  EXPECT_THAT(reads_of({"data.val_count=24", "track.confusion=true", "track.predictions=2"}, 2),
              IsEmpty());
}

TEST_F(StepSafety, a_module_that_looks_at_its_scores_is_found) {
  torch::jit::Module module("Peeking");
  module.register_parameter("weight", torch::ones({10}, torch::requires_grad()),
                            /*is_buffer=*/false);
  module.define(R"(
def forward(self, x):
    y = x.flatten(1)[:, :10] * self.weight
    if float(y.abs().sum()) < 0.0:
        y = y * 2
    return y
)");
  const Path file = folder_ / "peeking.pt";
  module.save(file.string());
  EXPECT_THAT(reads_of({"model.file=" + file.string()}),
              testing::ElementsAre(testing::Key("aten::item")));
}

TEST_F(StepSafety, pure_bf16_reads_nothing_back) {
  EXPECT_THAT(reads_of({"train.precision=bf16-pure"}), IsEmpty());
}

}  // namespace
}  // namespace kedge::train
