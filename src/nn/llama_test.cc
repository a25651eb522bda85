// Llama's family against the values of transformers that tools/golden/llama.py wrote.
#include <algorithm>
#include <cstdint>
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
#include <unistd.h>

#include "core/file.h"
#include "nn/decoder.h"
#include "nn/internal/golden.h"
#include "nn/llama_shape.h"
#include "nn/model.h"

namespace kedge::nn {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kTokens = 20;
constexpr double kAuxLoss = 30;  // AUX_LOSS of the generator

const Json& cases() {
  static const Json json =
      Json::parse(read_file(Path(KEDGE_FIXTURES) / "nn/llama.json").value()).at("cases");
  return json;
}

// A folder with the config.json of a case.
class Folder {
 public:
  explicit Folder(const Json& config)
      : path_(std::filesystem::temp_directory_path() / ("llama." + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    EXPECT_TRUE(write_file_atomic(path_ / "config.json", config.dump()));
  }

  ~Folder() { std::filesystem::remove_all(path_); }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const Path& path() const { return path_; }

 private:
  Path path_;
};

std::unique_ptr<Model> model_of(const Json& config) {
  const Folder folder(config);
  config::ModelConfig chosen;
  chosen.file = folder.path().string();
  auto model = make_model(chosen, {.context = kTokens, .vocab = config["vocab_size"]});
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

at::Tensor tokens_of(const Json& config) {
  return ((golden::noise(1, {2, kTokens}) + 1) / 2 * config["vocab_size"].get<std::int64_t>())
      .to(torch::kInt64);
}

at::Tensor weighted_sum(const at::Tensor& scores) {
  return (scores * golden::noise(2, scores.sizes())).sum();
}

class LlamaCase : public testing::TestWithParam<std::size_t> {
 protected:
  const Json& its() const { return cases()[GetParam()]; }
};

TEST_P(LlamaCase, scores_and_gradients_are_those_of_transformers) {
  const auto model = model_of(its()["config"]);
  golden::fill_by_name(model->parameters());
  const at::Tensor scores = model->forward(tokens_of(its()["config"]));
  const std::int64_t vocab = scores.size(2);
  const std::vector<double> expected = its()["scores"];
  const auto middle = expected.begin() + vocab;
  golden::expect_near(scores[0][-1], std::vector(expected.begin(), middle), "last of text 0");
  golden::expect_near(scores[1], std::vector(middle, expected.end()), "text 1");
  at::Tensor loss = weighted_sum(scores);
  ASSERT_EQ(model->aux_loss_coefficient().has_value(), its().contains("aux_loss"));
  if (model->aux_loss_coefficient()) {
    const at::Tensor aux_loss = model->take_aux_loss();
    golden::expect_near(aux_loss, Json::array({its()["aux_loss"]}), "balance of the experts");
    EXPECT_FALSE(model->take_aux_loss().defined());
    loss = loss + aux_loss * kAuxLoss;
  }
  loss.backward();
  ASSERT_EQ(model->parameters().size(), its()["gradients"].size());
  for (const auto& [name, tensor] : model->parameters()) {
    const Json& gradient = its()["gradients"].at(name);
    golden::expect_near(tensor.grad().norm(), Json::array({gradient["norm"]}), name);
    golden::expect_near(tensor.grad(), gradient["first"], name, gradient["norm"].get<double>());
  }
}

TEST_P(LlamaCase, decodes_what_a_forward_pass_scores) {
  const auto model = model_of(its()["config"]);
  golden::fill_by_name(model->parameters());
  model->set_training(false);
  const torch::NoGradGuard no_grad;
  const at::Tensor tokens = tokens_of(its()["config"]);
  const at::Tensor expected = model->forward(tokens);
  auto& decoder = dynamic_cast<Decoder&>(*model);
  KvCache cache = decoder.make_cache(2, kTokens);
  // Text 0 begins with 7 tokens, text 1 with 3 and padding.
  at::Tensor begin = tokens.narrow(1, 0, 7).clone();
  begin[1].narrow(0, 3, 4).zero_();
  at::Tensor counts = torch::tensor({7, 3}, torch::kInt64);
  at::Tensor scores = decoder.decode(begin, counts, cache);
  at::Tensor lengths = counts.clone();
  for (int step = 0; step < 10; ++step) {
    for (int text = 0; text < 2; ++text) {
      const auto at = lengths[text].item<std::int64_t>() - 1;
      EXPECT_TRUE(torch::allclose(scores[text], expected[text][at], 1e-5, 1e-5))
          << "text " << text << " after " << at << " tokens";
    }
    const at::Tensor next = tokens.gather(1, lengths.unsqueeze(1));
    scores = decoder.decode(next, torch::ones({2}, torch::kInt64), cache);
    lengths += 1;
  }
}

TEST_P(LlamaCase, recomputes_the_same_gradients) {
  const auto kept = model_of(its()["config"]);
  const auto recomputing = model_of(its()["config"]);
  ASSERT_TRUE(recomputing->recompute_blocks());
  for (Model* model : {kept.get(), recomputing.get()}) {
    golden::fill_by_name(model->parameters());
    at::Tensor loss = weighted_sum(model->forward(tokens_of(its()["config"])));
    if (model->aux_loss_coefficient()) {
      loss = loss + model->take_aux_loss() * kAuxLoss;
    }
    loss.backward();
  }
  const NamedTensors expected = kept->parameters();
  const NamedTensors actual = recomputing->parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(torch::equal(actual[i].second.grad(), expected[i].second.grad()))
        << expected[i].first;
  }
}

TEST_P(LlamaCase, its_description_is_written_as_it_is_read) {
  const LlamaShape shape = read_llama_config(its()["config"], "config.json").value();
  const Json written = to_config_json(shape, "float32");
  const auto again = read_llama_config(written, "config.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_config_json(*again, "float32"), written);
  EXPECT_EQ(rope_frequencies(*again), rope_frequencies(shape));
  EXPECT_EQ(again->window_of(0), shape.window_of(0));
  EXPECT_EQ(again->window_of(1), shape.window_of(1));
}

std::vector<std::size_t> case_numbers() {
  std::vector<std::size_t> numbers(cases().size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(Family, LlamaCase, testing::ValuesIn(case_numbers()),
                         [](const auto& info) {
                           std::string name =
                               cases()[info.param]["name"].template get<std::string>();
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

void expect_refused(const char* key, const Json& value, const std::string& message) {
  Json config = cases()[0]["config"];
  config[key] = value;
  const auto shape = read_llama_config(config, "dir/config.json");
  ASSERT_FALSE(shape) << key;
  EXPECT_EQ(shape.error().kind, ErrorKind::Usage);
  EXPECT_THAT(shape.error().message, HasSubstr(message));
}

TEST(LlamaConfig, what_might_change_the_model_and_is_not_known_is_refused_by_name) {
  expect_refused("num_local_experts", 8, "what 'num_local_experts' does");
  expect_refused("model_type", "gemma", "model_type 'gemma'");
  expect_refused("hidden_act", "gelu", "hidden_act 'gelu'");
  expect_refused("attention_dropout", 0.1, "attention_dropout");
  expect_refused("num_key_value_heads", 3, "4 heads cannot share 3");
  expect_refused("head_dim", 7, "width 7");
  expect_refused("hidden_size", "many", "'hidden_size' cannot be \"many\"");
  expect_refused("rope_parameters", {{"rope_type", "longrope"}}, "rope type 'longrope'");
  expect_refused("rope_parameters", {{"rope_type", "yarn"}, {"mscale", 1}}, "what 'mscale' does");
}

}  // namespace
}  // namespace kedge::nn
