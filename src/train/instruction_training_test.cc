// Whole trainings of a tiny model on conversations and on pairs of answers: however a batch is cut,
// the step is the same; and a pair's loss is what its formula says.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "checkpoint/checkpoint.h"
#include "core/scratch_folder.h"
#include "nn/log_probs.h"
#include "nn/loss.h"
#include "nn/tensor_view.h"
#include "track/history.h"
#include "train/run_training.h"

namespace kedge::train {
namespace {

using testing::HasSubstr;

constexpr const char* kConfig = R"(
seed: 5
data: {name: chat, context: 96, val_count: 0}
model: {name: gpt-nano, layers: 2, width: 24, heads: 2}
optimizer: {name: sgd, lr: 1, momentum: 0}
loader: {batch_size: 100, workers: 0, shuffle: false}
train: {epochs: 1, threads: 1, device: cpu, precision: fp64, log_every: 1, stop_on_nan: true}
track: {system_every: 0, predictions: 0, confusion: false}
checkpoint: {every: never, async: false}
)";

constexpr const char* kTemplate =
    "{% for m in messages %}{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}assistant\n{% endif %}";

class InstructionTraining : public testing::Test {
 protected:
  InstructionTraining() {
    write(folder_ / "chat.jinja", kTemplate);
    std::string chats;
    std::string pairs;
    for (int i = 0; i < 9; ++i) {
      const std::string question(static_cast<std::size_t>(1 + 3 * i % 11), 'q');
      const std::string answer(static_cast<std::size_t>(1 + 5 * i % 13), 'a');
      chats += R"({"prompt": ")" + question + R"(", "completion": ")" + answer + "\"}\n";
      pairs += R"({"prompt": ")" + question + R"(", "chosen": ")" + answer +
               R"(", "rejected": "no"})" + "\n";
    }
    write(folder_ / "chats.jsonl", chats);
    write(folder_ / "pairs.jsonl", pairs);
  }

  static void write(const Path& path, const std::string& text) {
    KEDGE_CHECK(write_file_atomic(path, text), "a test can write its files");
  }

  Result<void> train(const std::string& id, std::vector<std::string> overrides) {
    std::vector<std::string> all = {
        "run.id=" + id, "track.dir=" + folder_.path().string(),
        "data.path=" + (folder_ / "chats.jsonl").string(),
        "data.chat_template=" + (folder_ / "chat.jinja").string(),
        std::string("data.tokenizer=") + KEDGE_FIXTURES + "/data/tokenizers/llama3.json"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const auto config = config::load_config({.text = kConfig, .overrides = std::move(all)});
    EXPECT_TRUE(config) << config.error().message;
    return run_training(*config, {});
  }

  void must_train(const std::string& id, const std::vector<std::string>& overrides) {
    const auto done = train(id, overrides);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::vector<double> curve(const std::string& id, const std::string& metric) const {
    const auto history = track::read_history(folder_ / "default" / id);
    EXPECT_TRUE(history) << history.error().message;
    std::vector<double> values;
    for (const track::Point& point : history->curves.at(metric).points) {
      values.push_back(point.value);
    }
    return values;
  }

  std::map<std::string, at::Tensor> weights(const std::string& id) const {
    Path newest;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_ / "default" / id / "checkpoints")) {
      newest = std::max(newest, entry.path());
    }
    const auto saved = checkpoint::Checkpoint::open(newest);
    EXPECT_TRUE(saved) << saved.error().message;
    std::map<std::string, at::Tensor> weights;
    const auto& part = saved->part("model");
    for (const checkpoint::TensorView& view : part.tensors()) {
      weights[view.name] = nn::to_tensor(view).clone();
    }
    return weights;
  }

  void expect_same_step(const std::string& id, const std::string& other) const {
    const auto one = weights(id);
    const auto two = weights(other);
    ASSERT_FALSE(one.empty());
    for (const auto& [name, tensor] : one) {
      EXPECT_LT((tensor - two.at(name)).abs().max().item<double>(), 1e-6) << name;
    }
    EXPECT_NEAR(curve(id, "train/loss").front(), curve(other, "train/loss").front(), 1e-6);
  }

  const ScratchFolder folder_;
};

TEST_F(InstructionTraining, a_step_is_the_same_however_its_records_are_cut) {
  must_train("packed", {});
  const std::map<std::string, std::vector<std::string>> others = {
      {"padded", {"data.pack=false"}},
      {"accumulated", {"data.pack=false", "loader.batch_size=2", "train.accumulate=100"}},
      {"packed-accumulated", {"loader.batch_size=1", "train.accumulate=100"}}};
  for (const auto& [id, overrides] : others) {
    must_train(id, overrides);
    expect_same_step("packed", id);
  }
}

TEST_F(InstructionTraining, the_first_loss_of_pairs_is_the_logarithm_of_two) {
  must_train("pairs", {"data.name=preference", "loss.name=dpo", "train.epochs=3",
                       "optimizer.lr=0.1", "data.path=" + (folder_ / "pairs.jsonl").string()});
  const auto losses = curve("pairs", "train/step_loss");
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_NEAR(losses[0], std::log(2), 1e-6) << "the model is still its own reference";
  EXPECT_LT(losses[2], losses[0]);
  EXPECT_GT(curve("pairs", "train/reward_margin").back(), 0);
  EXPECT_GT(curve("pairs", "train/accuracy").back(), 0.5);
}

TEST_F(InstructionTraining, what_does_not_go_together_is_refused) {
  EXPECT_THAT(train("a", {"data.pack=false", "data.text_field=x"}).error().message,
              HasSubstr("data.text_field"));
  EXPECT_FALSE(config::load_config({.overrides = {"data.name=preference"}}));
  EXPECT_FALSE(config::load_config({.overrides = {"loss.name=dpo"}}));
}

// -log sigmoid(beta (chosen - rejected)), by hand: beta 0.5, margins 2 and -1.
TEST(Dpo, is_the_formula_of_its_paper) {
  config::LossConfig config{.name = "dpo", .beta = 0.5};
  const auto loss = nn::Losses::make("loss", "dpo", config, nn::Making().context);
  ASSERT_TRUE(loss);
  const at::Tensor scores = torch::tensor({{1.0, -1.0}, {0.5, 1.5}}, torch::kFloat64);
  const double wanted = (std::log1p(std::exp(-1.0)) + std::log1p(std::exp(0.5))) / 2;
  EXPECT_NEAR((**loss)(scores, {}).item<double>(), wanted, 1e-12);
  config.label_smoothing = 0.25;
  const auto smoothed = nn::Losses::make("loss", "dpo", config, nn::Making().context);
  const double turned = (std::log1p(std::exp(1.0)) + std::log1p(std::exp(-0.5))) / 2;
  EXPECT_NEAR((**smoothed)(scores, {}).item<double>(), 0.75 * wanted + 0.25 * turned, 1e-12);
}

// Against libtorch's own operations and their gradients, in stretches of any size.
TEST(LogProbs, in_stretches_are_those_of_all_scores_at_once) {
  torch::manual_seed(3);
  const at::Tensor targets = torch::tensor({{1, -100, 6}, {0, 3, -100}}, torch::kInt64);
  const at::Tensor outer = torch::rand({2, 3}, torch::kFloat64);
  const at::Tensor features = torch::randn({2, 3, 5}, torch::kFloat64);
  const at::Tensor weight = torch::randn({7, 5}, torch::kFloat64);
  const auto gradients_of = [&](const auto& compute) {
    const at::Tensor x = features.clone().requires_grad_();
    const at::Tensor w = weight.clone().requires_grad_();
    const at::Tensor result = compute(x, w);
    (result * outer).sum().backward();
    return std::vector<at::Tensor>{result.detach(), x.grad(), w.grad()};
  };
  const auto wanted = gradients_of([&](const at::Tensor& x, const at::Tensor& w) {
    const at::Tensor all = torch::log_softmax(torch::matmul(x, w.t()), -1);
    const at::Tensor own = all.gather(2, targets.clamp_min(0).unsqueeze(2)).squeeze(2);
    return torch::where(targets.ge(0), own, 0.0);
  });
  for (const std::int64_t at_once : {1, 14, 1000}) {
    const auto got = gradients_of([&](const at::Tensor& x, const at::Tensor& w) {
      return nn::log_probs({.features = x, .weight = w}, targets, at_once);
    });
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(at::allclose(got[i], wanted[i], 1e-10, 1e-12)) << i << " of " << at_once;
    }
  }
}

}  // namespace
}  // namespace kedge::train
