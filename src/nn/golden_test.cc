// Models and losses against the values of PyTorch 2.11 that tools/golden/nn.py wrote.
#include "nn/internal/golden.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/file.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/script_model.h"
#include "nn/weights.h"

namespace kedge::nn {
namespace {

using Json = nlohmann::json;
using golden::expect_near;
using golden::kTolerance;
using golden::noise;
using golden::weight_value;

const Json& golden_json() {
  static const Json json = Json::parse(read_file(Path(KEDGE_FIXTURES) / "nn/golden.json").value());
  return json;
}

void fill(Model& model) {
  const torch::NoGradGuard no_grad;
  std::uint64_t stream = 1000;
  for (const auto& [name, tensor] : model.parameters()) {
    tensor.copy_(weight_value(name, stream++, tensor.sizes()));
  }
  stream = 5000;
  for (const auto& [name, tensor] : model.buffers()) {
    if (tensor.is_floating_point()) {
      tensor.copy_(weight_value(name, stream, tensor.sizes()));
    }
    ++stream;
  }
}

config::ModelConfig config_of(const Json& golden_case) {
  config::ModelConfig config;
  const Json& json = golden_case["config"];
  config.name = golden_case["model"].get<std::string>();
  config.batch_norm = json.value("batch_norm", true);
  config.hidden = json.value("hidden", config.hidden);
  if (json.contains("stem")) {
    config.stem = json["stem"] == "cifar" ? config::Stem::Cifar : config::Stem::Imagenet;
  }
  if (json.contains("dropout")) {
    config.dropout = json["dropout"].get<double>();
  }
  if (json.contains("patch")) {
    config.patch = json["patch"].get<std::int64_t>();
    config.layers = json["layers"].get<std::int64_t>();
    config.heads = json["heads"].get<std::int64_t>();
    config.width = json["width"].get<std::int64_t>();
  }
  return config;
}

Signature signature_of(const Json& json) {
  return {.height = json.value("height", 0),
          .width = json.value("width", 0),
          .channels = json.value("channels", 0),
          .classes = json.value("classes", 0),
          .context = json.value("context", 0),
          .vocab = json.value("vocab", 0)};
}

at::Tensor input_of(const Signature& signature) {
  if (signature.takes_tokens()) {
    return ((noise(1, {2, signature.context}) + 1) / 2 * signature.vocab).to(torch::kInt64);
  }
  return noise(1, {4, signature.channels, signature.height, signature.width});
}

class GoldenModel : public testing::TestWithParam<std::size_t> {};

TEST_P(GoldenModel, gives_the_scores_and_gradients_of_pytorch) {
  // As the generator: sums over several threads round otherwise, and BatchNorm over few values
  // makes that large in deep networks.
  torch::set_num_threads(1);
  const Json& expected = golden_json()["models"][GetParam()];
  const Signature signature = signature_of(expected["task"]);
  auto made = make_model(config_of(expected), signature);
  ASSERT_TRUE(made) << made.error().message;
  Model& model = **made;
  EXPECT_EQ(count_parameters(model), expected["parameters"].get<std::int64_t>());
  fill(model);
  at::Tensor input = input_of(signature);

  model.set_training(false);
  expect_near(model.forward(input), expected["eval_scores"], "evaluation scores");

  model.set_training(true);
  if (expected["is_precise"].get<bool>()) {
    model.to(at::kDouble);
    input = input.to(at::kDouble);
  }
  const at::Tensor scores = model.forward(input);
  expect_near(scores, expected["train_scores"], "training scores");
  (scores * noise(2, scores.sizes())).sum().backward();
  ASSERT_EQ(model.parameters().size(), expected["gradients"].size());
  for (const auto& [name, tensor] : model.parameters()) {
    ASSERT_TRUE(expected["gradients"].contains(name)) << name;
    const Json& gradient = expected["gradients"][name];
    const double norm = gradient["norm"];
    // Biases in front of BatchNorm have gradients that are nothing but rounding.
    const bool is_noise = norm < 1e-3;
    EXPECT_NEAR(tensor.grad().norm().item<double>(), norm, is_noise ? 1e-3 : kTolerance * norm)
        << name;
    expect_near(tensor.grad(), gradient["first"], name, is_noise ? 100 : norm);
  }
  for (const auto& [name, tensor] : model.buffers()) {
    ASSERT_TRUE(expected["buffers"].contains(name)) << name;
    expect_near(tensor, expected["buffers"][name], name);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenModel, testing::Range<std::size_t>(0, 12),
                         [](const auto& info) {
                           std::string name = golden_json()["models"][info.param]["model"];
                           std::erase(name, '-');
                           return name + "_" + std::to_string(info.param);
                         });

TEST(GoldenModels, are_all_tried) {
  EXPECT_EQ(golden_json()["models"].size(), 12U);
}

TEST(GoldenLosses, equal_those_of_pytorch) {
  for (const Json& expected : golden_json()["losses"]) {
    config::LossConfig config;
    config.name = expected["loss"].get<std::string>();
    config.label_smoothing = expected["label_smoothing"];
    const auto loss = Losses::make("loss", config.name, config, Making().context);
    ASSERT_TRUE(loss) << loss.error().message;
    const auto shape = expected["score_shape"].get<std::vector<std::int64_t>>();
    const auto target_shape = expected["target_shape"].get<std::vector<std::int64_t>>();
    const at::Tensor scores = (noise(3, shape) * 4).requires_grad_();
    const at::Tensor draws = noise(4, target_shape);
    const at::Tensor targets = expected["is_soft"].get<bool>()
                                   ? draws.softmax(-1)
                                   : ((draws + 1) / 2 * shape.back()).to(torch::kInt64);
    const at::Tensor value = (**loss)(scores, targets);
    ASSERT_EQ(value.dim(), 0);
    value.backward();
    expect_near(value, Json::array({expected["value"]}), expected.dump());
    expect_near(scores.grad(), expected["gradient"], expected.dump());
  }
}

TEST(GoldenScript, gives_the_scores_of_python) {
  const Signature signature{.height = 8, .width = 8, .channels = 1, .classes = 3};
  auto model = load_script_model(Path(KEDGE_FIXTURES) / "nn/scripted.pt", signature);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->set_training(false);
  expect_near((*model)->forward(noise(1, {4, 1, 8, 8})), golden_json()["scripted_scores"],
              "scripted");
}

TEST(GoldenWeights, of_a_conv1d_gpt2_give_the_scores_of_python) {
  config::ModelConfig config;
  config.name = "gpt2";
  config.layers = 2;
  config.heads = 2;
  config.width = 8;
  auto model = make_model(config, {.context = 6, .vocab = 11});
  ASSERT_TRUE(model) << model.error().message;
  const auto report = load_weights(**model, Path(KEDGE_FIXTURES) / "nn/gpt_conv1d.safetensors");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->loaded, 28);
  EXPECT_EQ(report->unused, std::vector<std::string>{"transformer.h.0.attn.bias"});
  (*model)->set_training(false);
  const at::Tensor tokens = ((noise(1, {1, 6}) + 1) / 2 * 11).to(torch::kInt64);
  expect_near((*model)->forward(tokens), golden_json()["gpt_conv1d_scores"], "gpt2");
}

}  // namespace
}  // namespace kedge::nn
