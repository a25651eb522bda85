// The loop's own claims, on whole trainings of a tiny network: what is left in the run folder says
// what each step did.
#include "train/internal/loop.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "checkpoint/checkpoint.h"
#include "core/scratch_folder.h"
#include "nn/tensor_view.h"
#include "track/history.h"
#include "train/run_training.h"
#include "train/saved_model.h"

namespace kedge::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Weights = std::map<std::string, at::Tensor>;

constexpr const char* kConfig = R"(
seed: 3
data: {name: synthetic, samples: 30, image_size: 4, channels: 1, val_count: 6}
model: {name: mlp, hidden: [8]}
optimizer: {name: sgd, lr: 0.1, momentum: 0}
loader: {batch_size: 8, workers: 0}
train: {epochs: 1, threads: 1, device: cpu}
track: {system_every: 0, predictions: 0, confusion: false}
checkpoint: {every: never, async: false}
)";

class TrainerTest : public testing::Test {
 protected:
  Result<void> train(const std::string& id, std::vector<std::string> overrides) {
    overrides.push_back("run.id=" + id);
    overrides.push_back("track.dir=" + folder_.path().string());
    const auto config = config::load_config({.text = kConfig, .overrides = std::move(overrides)});
    EXPECT_TRUE(config) << config.error().message;
    return run_training(*config, {});
  }

  void must_train(const std::string& id, const std::vector<std::string>& overrides) {
    const auto done = train(id, overrides);
    ASSERT_TRUE(done) << done.error().message;
  }

  Path run_folder(const std::string& id) const { return folder_ / "default" / id; }

  // Of the newest checkpoint.
  Weights weights(const std::string& id, const std::string& part = "model") const {
    Path newest;
    for (const auto& entry : std::filesystem::directory_iterator(run_folder(id) / "checkpoints")) {
      newest = std::max(newest, entry.path());
    }
    const auto saved = checkpoint::Checkpoint::open(newest);
    EXPECT_TRUE(saved) << saved.error().message;
    Weights weights;
    for (const checkpoint::TensorView& view : saved->part(part).tensors()) {
      weights[view.name] = nn::to_tensor(view).clone();
    }
    return weights;
  }

  nlohmann::json summary(const std::string& id) const {
    return nlohmann::json::parse(*read_file(run_folder(id) / "run.json")).at("summary");
  }

  std::vector<std::int64_t> steps_of(const std::string& id, const std::string& metric) const {
    const auto history = track::read_history(run_folder(id));
    EXPECT_TRUE(history) << history.error().message;
    std::vector<std::int64_t> steps;
    for (const track::Point& point : history->curves.at(metric).points) {
      steps.push_back(point.step);
    }
    return steps;
  }

 private:
  ScratchFolder folder_;
};

void expect_near(const Weights& a, const Weights& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    EXPECT_LE((tensor - b.at(name)).abs().max().item<double>(), tolerance) << name;
  }
}

double distance(const Weights& a, const Weights& b) {
  double sum = 0;
  for (const auto& [name, tensor] : a) {
    sum += (tensor - b.at(name)).to(at::kDouble).pow(2).sum().item<double>();
  }
  return std::sqrt(sum);
}

TEST_F(TrainerTest, images_on_the_device_give_the_same_bits_as_streamed_ones) {
  const std::vector<std::string> common = {"transform.train=[random_crop 4 1 reflect, flip]",
                                           "train.epochs=2"};
  std::vector<std::string> resident = common;
  resident.push_back("loader.resident=true");
  must_train("streamed", common);
  must_train("resident", resident);
  expect_near(weights("resident"), weights("streamed"), 0);
}

// 24 samples: two batches of 8 and then one alone, against a batch of 16 and one of 8.
TEST_F(TrainerTest, accumulated_batches_are_one_larger_batch) {
  must_train("large", {"loader.batch_size=16"});
  must_train("small", {"loader.batch_size=8", "train.accumulate=2"});
  EXPECT_EQ(summary("large").at("steps"), 2);
  EXPECT_EQ(summary("small").at("steps"), 2);
  expect_near(weights("small"), weights("large"), 1e-6);
  must_train("other", {"loader.batch_size=8"});
  EXPECT_GT(distance(weights("other"), weights("large")), 1e-3);
}

// One step over all 24 samples, of which the last micro-batch has fewer.
TEST_F(TrainerTest, micro_batches_count_by_their_samples) {
  must_train("whole", {"loader.batch_size=24"});
  for (const auto& [size, accumulate] : {std::pair{5, 5}, {7, 4}, {23, 2}, {10, 3}}) {
    const std::string id = fmt::format("split-{}", size);
    must_train(id, {fmt::format("loader.batch_size={}", size),
                    fmt::format("train.accumulate={}", accumulate)});
    EXPECT_EQ(summary(id).at("steps"), 1) << id;
    expect_near(weights(id), weights("whole"), 1e-6);
  }
}

TEST_F(TrainerTest, a_clipped_step_is_as_long_as_the_norm_allows) {
  must_train("start", {"train.max_steps=1", "optimizer.lr=0"});
  must_train("free", {"train.max_steps=1", "optimizer.lr=0.5"});
  must_train("clipped", {"train.max_steps=1", "optimizer.lr=0.5", "train.clip_norm=0.01"});
  const Weights start = weights("start");
  ASSERT_GT(distance(weights("free"), start), 0.01);
  EXPECT_NEAR(distance(weights("clipped"), start), 0.5 * 0.01, 1e-6);
}

TEST_F(TrainerTest, logs_the_loss_at_every_nth_step) {
  must_train("a", {"loader.batch_size=2", "train.log_every=5"});
  EXPECT_THAT(steps_of("a", "train/step_loss"), ElementsAre(5, 10));
  EXPECT_THAT(steps_of("a", "train/loss"), ElementsAre(12));
}

TEST_F(TrainerTest, stops_early_when_nothing_improves) {
  must_train("still", {"train.epochs=9", "optimizer.lr=0", "early_stop.patience=2"});
  EXPECT_EQ(summary("still").at("epochs"), 3);
  EXPECT_EQ(summary("still").at("stopped_early"), true);
  must_train("moving", {"train.epochs=3", "early_stop.patience=2"});
  EXPECT_EQ(summary("moving").at("stopped_early"), false);
}

TEST_F(TrainerTest, ends_at_max_steps_in_the_middle_of_an_epoch) {
  must_train("a", {"train.epochs=5", "train.max_steps=4"});  // three steps an epoch
  EXPECT_EQ(summary("a").at("steps"), 4);
  EXPECT_EQ(summary("a").at("epochs"), 2);
}

// 24 samples in batches of 2: 12 steps an epoch.
TEST_F(TrainerTest, validates_every_nth_step_and_keeps_the_best_of_all) {
  const std::vector<std::string> common = {"loader.batch_size=2", "train.epochs=2",
                                           "train.eval_every=0"};
  std::vector<std::string> often = common;
  often.push_back("train.eval_steps=5");
  must_train("often", often);
  must_train("seldom", common);
  EXPECT_THAT(steps_of("often", "val/loss"), ElementsAre(5, 10, 15, 20, 24));
  EXPECT_THAT(steps_of("seldom", "val/loss"), ElementsAre(24));
  expect_near(weights("often"), weights("seldom"), 0);  // looking changes nothing
}

// The 12th step ends an epoch: one validation serves both.
TEST_F(TrainerTest, a_step_that_ends_an_epoch_is_validated_once) {
  must_train("a", {"loader.batch_size=2", "train.epochs=2", "train.eval_steps=6"});
  EXPECT_THAT(steps_of("a", "val/loss"), ElementsAre(6, 12, 18, 24));
}

TEST_F(TrainerTest, stops_early_inside_an_epoch) {
  must_train("a", {"loader.batch_size=2", "train.epochs=9", "optimizer.lr=0", "train.eval_steps=3",
                   "early_stop.patience=2", "early_stop.metric=val/loss"});
  EXPECT_EQ(summary("a").at("steps"), 9);
  EXPECT_EQ(summary("a").at("stopped_early"), true);
}

TEST_F(TrainerTest, validates_every_nth_epoch_and_after_the_last) {
  must_train("a", {"train.epochs=5", "train.eval_every=2"});
  EXPECT_THAT(steps_of("a", "val/loss"), ElementsAre(6, 12, 15));
}

TEST_F(TrainerTest, names_the_tensor_that_is_no_longer_finite) {
  const auto result = train("a", {"optimizer.lr=1e300"});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("is not finite; first bad tensor: layers."));
  const auto run = nlohmann::json::parse(*read_file(run_folder("a") / "run.json"));
  EXPECT_EQ(run.at("state"), "failed");
}

TEST_F(TrainerTest, averages_the_weights_after_each_step) {
  must_train("start", {"train.max_steps=1", "optimizer.lr=0"});
  must_train("a", {"train.max_steps=1", "ema.decay=0.75", "ema.warmup=false"});
  const Weights start = weights("start");
  const Weights end = weights("a");
  for (const auto& [name, average] : weights("a", "ema")) {
    EXPECT_TRUE(at::allclose(average, 0.75 * start.at(name) + 0.25 * end.at(name), 1e-5, 1e-7))
        << name;
  }
}

TEST_F(TrainerTest, one_seed_gives_one_set_of_weights) {
  const std::vector<std::string> options = {"train.epochs=2", "model.dropout=0.3",
                                            "transform.train=[flip]"};
  must_train("a", options);
  must_train("b", options);
  expect_near(weights("a"), weights("b"), 0);
  must_train("c", {"train.epochs=2", "model.dropout=0.3", "transform.train=[flip]", "seed=4"});
  EXPECT_GT(distance(weights("a"), weights("c")), 1e-3);
}

TEST_F(TrainerTest, refuses_sizes_that_the_model_cannot_take_and_writes_nothing) {
  const auto result = train("a", {"transform.train=[random_crop 3]"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Usage);
  EXPECT_THAT(result.error().message,
              HasSubstr("transform.train makes images of 3x3 pixels with 1 channels, "
                        "transform.eval of 4x4 with 1, and mlp cannot take both"));
  EXPECT_FALSE(std::filesystem::exists(run_folder("a")));
}

TEST_F(TrainerTest, trains_on_another_size_where_the_network_pools) {
  EXPECT_TRUE(train("a", {"model.name=resnet18", "data.image_size=16",
                          "transform.train=[random_crop 12]", "train.max_steps=1"}));
}

TEST_F(TrainerTest, refuses_a_dropout_that_would_be_ignored) {
  const auto result =
      train("a", {"model.name=mnistnet", "data.image_size=28", "model.dropout=0.1"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Usage);
  EXPECT_THAT(result.error().message, HasSubstr("model.dropout: mnistnet does not read it"));
  EXPECT_THAT(result.error().hint, HasSubstr("mlp, simplecnn, vit"));
  EXPECT_FALSE(std::filesystem::exists(run_folder("a")));
}

}  // namespace
}  // namespace kedge::train
