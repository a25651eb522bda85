// BERT against the values of transformers that tools/golden/bert.py wrote.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/file.h"
#include "core/scratch_folder.h"
#include "nn/bert_shape.h"
#include "nn/internal/golden.h"
#include "nn/model.h"
#include "nn/pretrained.h"

namespace kedge::nn {
namespace {

constexpr std::int64_t kBertTokens = 12;
constexpr std::int64_t kRealTokens = 7;  // of the second text
constexpr std::int64_t kBertClasses = 3;
constexpr double kScale = 0.01;  // gradients of the keys' biases are zero but for rounding

const nlohmann::json& bert_cases() {
  static const nlohmann::json json =
      nlohmann::json::parse(read_file(Path(KEDGE_FIXTURES) / "nn/bert.json").value()).at("cases");
  return json;
}

std::unique_ptr<Model> bert_of(const nlohmann::json& config) {
  const ScratchFolder folder;
  EXPECT_TRUE(write_file_atomic(folder.path() / "config.json", config.dump()));
  config::ModelConfig chosen;
  chosen.file = folder.path().string();
  auto model = make_model(
      chosen, {.classes = kBertClasses, .context = kBertTokens, .vocab = config["vocab_size"]});
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

ModelInput bert_input_of(const nlohmann::json& config) {
  const at::Tensor tokens =
      ((golden::noise(1, {2, kBertTokens}) + 1) / 2 * config["vocab_size"].get<std::int64_t>())
          .to(torch::kInt64);
  at::Tensor documents = torch::zeros({2, kBertTokens}, torch::kInt32);
  documents[1].narrow(0, kRealTokens, kBertTokens - kRealTokens).fill_(1);
  return {tokens, documents};
}

class BertCase : public testing::TestWithParam<std::size_t> {
 protected:
  const nlohmann::json& its() const { return bert_cases()[GetParam()]; }
};

TEST_P(BertCase, scores_and_gradients_are_those_of_transformers) {
  const auto model = bert_of(its()["config"]);
  golden::fill_by_name(model->parameters());
  const at::Tensor scores = model->forward(bert_input_of(its()["config"]));
  golden::expect_near(scores, its()["scores"], "scores");
  (scores * golden::noise(2, scores.sizes())).sum().backward();
  ASSERT_EQ(model->parameters().size(), its()["gradients"].size());
  for (const auto& [name, tensor] : model->parameters()) {
    const nlohmann::json& gradient = its()["gradients"].at(name);
    golden::expect_near(tensor.grad().norm(), nlohmann::json::array({gradient["norm"]}), name,
                        kScale);
    golden::expect_near(tensor.grad(), gradient["first"], name,
                        std::max(kScale, gradient["norm"].get<double>()));
  }
}

TEST_P(BertCase, its_description_is_written_as_it_is_read) {
  const BertShape shape = read_bert_config(its()["config"], "config.json").value();
  const nlohmann::json written = to_config_json(shape, kBertClasses, "float32");
  const auto again = read_bert_config(written, "config.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_config_json(*again, kBertClasses, "float32"), written);
}

std::vector<std::size_t> bert_case_numbers() {
  std::vector<std::size_t> numbers(bert_cases().size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(Shapes, BertCase, testing::ValuesIn(bert_case_numbers()));

TEST(Bert, what_its_config_asks_for_and_is_not_known_is_refused_by_name) {
  const auto expect_refused = [](const char* key, const nlohmann::json& value,
                                 const std::string& message) {
    nlohmann::json config = bert_cases()[0]["config"];
    config[key] = value;
    const auto shape = read_bert_config(config, "dir/config.json");
    ASSERT_FALSE(shape) << key;
    EXPECT_THAT(shape.error().message, testing::HasSubstr(message));
  };
  expect_refused("position_embedding_type", "relative_key", "position_embedding_type");
  expect_refused("hidden_act", "silu", "hidden_act 'silu'");
  expect_refused("num_attention_heads", 5, "5 heads do not divide");
  expect_refused("embedding_size", 16, "what 'embedding_size' does");
}

TEST(Bert, needs_texts_with_labels_and_a_language_model_texts_without) {
  config::ModelConfig config;
  config.name = "bert-mini";
  const auto encoder = make_model(config, {.context = 8, .vocab = 16});
  ASSERT_FALSE(encoder);
  EXPECT_THAT(encoder.error().message, testing::HasSubstr("the data have no labels"));
  config.name = "gpt-nano";
  const auto decoder = make_model(config, {.classes = 2, .context = 8, .vocab = 16});
  ASSERT_FALSE(decoder);
  EXPECT_THAT(decoder.error().message, testing::HasSubstr("texts with labels"));
}

}  // namespace
}  // namespace kedge::nn
