#include "nn/converter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/model.h"

namespace kedge::nn {
namespace {

// x W^T + b + x A^T B^T, W frozen: a low-rank adapter (Hu et al. 2021), as a stranger would add it.
class Adapted : public Linear {
 public:
  Adapted(const std::shared_ptr<Linear>& base, std::int64_t rank)
      : Linear({}, base->weight.size(1), base->weight.size(0)) {
    weight.requires_grad_(false);
    bias.requires_grad_(false);
    add_parameter("lora_A", a_, torch::randn({rank, weight.size(1)}));
    add_parameter("lora_B", b_, torch::randn({weight.size(0), rank}));
  }

  at::Tensor forward(const at::Tensor& x, Activation activation) override {
    return Linear::forward(x, activation) + torch::linear(torch::linear(x, a_), b_);
  }

 private:
  at::Tensor a_;
  at::Tensor b_;
};

class Adapters : public Converter {
 public:
  std::shared_ptr<Linear> convert(const std::string& name,
                                  const std::shared_ptr<Linear>& linear) override {
    return name.ends_with("c_proj") ? std::make_shared<Adapted>(linear, 2) : linear;
  }
};

// Asked for by a head count that nobody else uses.
constexpr std::int64_t kHeads = 5;

const Converters::Add kAddAdapters(
    {"test-adapters", "of this test",
     [](const config::ModelConfig& config) -> Result<std::unique_ptr<Converter>> {
       return config.heads == kHeads ? std::make_unique<Adapters>() : nullptr;
     }});

config::ModelConfig config_with(std::int64_t heads) {
  config::ModelConfig config;
  config.name = "gpt-nano";
  config.layers = 1;
  config.width = 40;
  config.heads = heads;
  return config;
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.parameters()) {
    names.push_back(name);
  }
  return names;
}

TEST(Converter, puts_other_layers_in_the_place_of_those_it_chooses) {
  const Signature signature{.context = 4, .vocab = 16};
  const auto plain = make_model(config_with(4), signature).value();
  const auto adapted = make_model(config_with(kHeads), signature).value();
  EXPECT_THAT(names_of(*plain), testing::Not(testing::Contains("h.0.mlp.c_proj.lora_A")));
  EXPECT_THAT(names_of(*adapted),
              testing::IsSupersetOf({"h.0.mlp.c_proj.lora_A", "h.0.mlp.c_proj.lora_B",
                                     "h.0.attn.c_proj.lora_A", "h.0.mlp.c_fc.weight"}));
}

TEST(Converter, the_new_layers_compute_and_are_in_their_blocks) {
  const Signature signature{.context = 4, .vocab = 16};
  const auto model = make_model(config_with(kHeads), signature).value();
  model->forward(torch::zeros({1, 4}, torch::kInt64)).sum().backward();
  const std::vector<Block> blocks = model->blocks();
  for (const auto& [name, tensor] : blocks.at(1).parameters) {
    const bool is_adapted = name.find("c_proj.") != std::string::npos;
    const bool is_new = name.find("lora_") != std::string::npos;
    EXPECT_EQ(tensor.grad().defined(), !is_adapted || is_new) << name;
  }
  EXPECT_THAT(names_of(*model), testing::Contains("h.0.attn.c_proj.lora_B"));
}

}  // namespace
}  // namespace kedge::nn
