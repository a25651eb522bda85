#include "train/optimizer.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "core/hex.h"
#include "train/optimizers/golden.h"

namespace kedge::train {
namespace {

class FakeModel : public nn::Model {
 public:
  explicit FakeModel(nn::NamedTensors parameters) : parameters_(std::move(parameters)) {}

  at::Tensor forward(const nn::ModelInput& input) override { return input.x; }

  nn::NamedTensors parameters() const override { return parameters_; }

  nn::NamedTensors buffers() const override { return {}; }

  void set_training(bool /*is_training*/) override {}

  void to(at::Device /*device*/) override {}

  void to(at::ScalarType /*type*/) override {}

  const nn::WeightNames& names() const override { return names_; }

 private:
  nn::WeightNames names_ = {.head = "fc.", .tables = {"tok_emb.*"}};
  nn::NamedTensors parameters_;
};

config::OptimizerConfig config_of(const nlohmann::json& test) {
  config::OptimizerConfig config;
  config.name = test.at("name").get<std::string>();
  const nlohmann::json& options = test.at("options");
  config.lr = options.at("lr").get<double>();
  config.weight_decay = options.value("weight_decay", config.weight_decay);
  config.momentum = options.value("momentum", config.momentum);
  config.nesterov = options.value("nesterov", config.nesterov);
  config.beta1 = options.value("beta1", config.beta1);
  config.beta2 = options.value("beta2", config.beta2);
  config.eps = options.value("eps", config.eps);
  config.alpha = options.value("alpha", config.alpha);
  return config;
}

std::vector<std::string> names_of(const nn::NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    names.push_back(name);
  }
  return names;
}

TEST(Optimizers, twenty_steps_agree_with_pytorch) {
  for (const nlohmann::json& test : golden::read("optimizers")) {
    SCOPED_TRACE(test.at("name").get<std::string>() + " " + test.at("options").dump());
    const config::OptimizerConfig config = config_of(test);
    const nn::NamedTensors parameters = golden::parameters();
    const ParameterGroups groups = {
        {.parameters = parameters, .weight_decay = config.weight_decay}};
    const auto optimizer = Optimizers::make("optimizer", config.name, config, groups);
    ASSERT_TRUE(optimizer.has_value());
    for (int step = 1; step <= 20; ++step) {
      golden::set_gradients(parameters, step);
      (*optimizer)->step(config.lr);
      const std::string key = std::to_string(step);
      if (!test.at("parameters").contains(key)) {
        continue;
      }
      SCOPED_TRACE("step " + key);
      for (const auto& [name, parameter] : parameters) {
        SCOPED_TRACE(name);
        golden::expect_near(parameter, test.at("parameters").at(key).at(name));
      }
    }
  }
}

TEST(Optimizers, every_optimizer_has_golden_values) {
  std::set<std::string> tested = {"adamw8bit"};  // below
  for (const nlohmann::json& test : golden::read("optimizers")) {
    tested.insert(test.at("name").get<std::string>());
  }
  for (const auto& [name, entry] : Optimizers::all()) {
    EXPECT_TRUE(tested.contains(std::string(name))) << name;
  }
}

struct Quantized {
  nlohmann::json golden = golden::read("quantized", "adamw8bit");
  at::Tensor weight =
      golden::initial(0, golden.at("shape").get<std::vector<std::int64_t>>()).requires_grad_();
  std::unique_ptr<Optimizer> optimizer = make();

  std::unique_ptr<Optimizer> make() {
    config::OptimizerConfig config =
        config_of({{"name", "adamw8bit"}, {"options", golden.at("options")}});
    return std::move(Optimizers::make("optimizer", config.name, config,
                                      ParameterGroups{{.parameters = {{"weight", weight}},
                                                       .weight_decay = config.weight_decay}})
                         .value());
  }

  void step(int number) {
    weight.mutable_grad() = golden::gradient(0, weight.sizes(), number).to(weight.scalar_type());
    optimizer->step(golden.at("options").at("lr").get<double>());
  }

  at::Tensor state(const std::string& name) {
    for (const auto& [own, tensor] : optimizer->state()) {
      if (own == name + ".weight") {
        return tensor;
      }
    }
    return {};
  }
};

std::string hex_of(const at::Tensor& tensor) {
  return render_hex({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
}

TEST(AdamW8bit, moments_and_parameters_are_those_of_bitsandbytes) {
  Quantized test;
  for (int step = 1; step <= 20; ++step) {
    test.step(step);
    if (step == 1) {
      const nlohmann::json& first = test.golden.at("first");
      EXPECT_EQ(hex_of(test.state("exp_avg")), first.at("state1"));
      EXPECT_EQ(hex_of(test.state("exp_avg_sq")), first.at("state2"));
      EXPECT_EQ(hex_of(test.state("exp_avg_absmax")), first.at("absmax1"));
      EXPECT_EQ(hex_of(test.state("exp_avg_sq_absmax")), first.at("absmax2"));
    }
    const std::string key = std::to_string(step);
    if (test.golden.at("parameters").contains(key)) {
      SCOPED_TRACE("step " + key);
      golden::expect_near(test.weight.detach().flatten().slice(0, 0, {}, 61),
                          test.golden.at("parameters").at(key));
    }
  }
}

TEST(AdamW8bit, resumed_moments_are_the_same_to_the_bit) {
  Quantized whole;
  Quantized second;
  for (int step = 1; step <= 6; ++step) {
    whole.step(step);
    if (step == 3) {
      second.weight.detach().copy_(whole.weight);
      const nn::NamedTensors saved = whole.optimizer->state();
      const nn::NamedTensors live = second.optimizer->state();
      ASSERT_EQ(saved.size(), live.size());
      for (std::size_t i = 0; i < saved.size(); ++i) {
        live[i].second.copy_(saved[i].second);
      }
    } else if (step > 3) {
      second.step(step);
    }
  }
  EXPECT_TRUE(at::equal(whole.weight, second.weight));
  EXPECT_TRUE(at::equal(whole.state("exp_avg"), second.state("exp_avg")));
}

TEST(AdamW8bit, a_state_takes_a_quarter_and_the_way_is_near_that_of_adamw) {
  Quantized test;
  const at::Tensor exact = test.weight.detach().clone().requires_grad_();
  config::OptimizerConfig config =
      config_of({{"name", "adamw"}, {"options", test.golden.at("options")}});
  const auto adamw = Optimizers::make(
      "optimizer", "adamw", config,
      ParameterGroups{{.parameters = {{"weight", exact}}, .weight_decay = config.weight_decay}});
  ASSERT_TRUE(adamw);
  const at::Tensor before = exact.detach().clone();
  for (int step = 1; step <= 20; ++step) {
    test.step(step);
    exact.mutable_grad() = test.weight.grad();
    (*adamw)->step(config.lr);
  }
  const double moved = (exact - before).norm().item<double>();
  EXPECT_LT((test.weight - exact).norm().item<double>(), 0.05 * moved);
  EXPECT_EQ(test.state("exp_avg").nbytes() * 4, exact.nbytes());
}

TEST(GroupParameters, all_decay_in_one_group) {
  const FakeModel model(golden::parameters());
  const ParameterGroups groups = group_parameters(model, {.weight_decay = 0.1});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].weight_decay, 0.1);
  EXPECT_EQ(groups[0].parameters.size(), 4U);
  EXPECT_EQ(groups[0].names.head, "fc.");
}

TEST(GroupParameters, only_matrices_decay_where_asked) {
  const FakeModel model(golden::parameters());
  const ParameterGroups groups =
      group_parameters(model, {.weight_decay = 0.1, .decay = config::DecayScope::Matrices});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].weight_decay, 0.1);
  EXPECT_THAT(names_of(groups[0].parameters), testing::ElementsAre("fc.weight", "conv.weight"));
  EXPECT_EQ(groups[1].weight_decay, 0);
  EXPECT_THAT(names_of(groups[1].parameters), testing::ElementsAre("fc.bias", "scale"));
}

TEST(GroupParameters, frozen_parameters_are_left_out) {
  nn::NamedTensors parameters = golden::parameters();
  parameters[0].second.requires_grad_(false);
  const ParameterGroups groups = group_parameters(FakeModel(parameters), {});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(names_of(groups[0].parameters),
              testing::ElementsAre("fc.bias", "conv.weight", "scale"));
}

TEST(MakeOptimizer, a_wholly_frozen_model_is_a_usage_error) {
  nn::NamedTensors parameters = golden::parameters();
  for (auto& [name, parameter] : parameters) {
    parameter.requires_grad_(false);
  }
  const auto optimizer = make_optimizer(FakeModel(parameters), {});
  ASSERT_FALSE(optimizer.has_value());
  EXPECT_EQ(optimizer.error().kind, ErrorKind::Usage);
  EXPECT_THAT(optimizer.error().message, testing::HasSubstr("no trainable parameters"));
}

TEST(MakeOptimizer, an_unknown_name_gets_the_nearest) {
  const auto optimizer = make_optimizer(FakeModel(golden::parameters()), {.name = "adamv"});
  ASSERT_FALSE(optimizer.has_value());
  EXPECT_THAT(optimizer.error().message, testing::HasSubstr("unknown optimizer 'adamv'"));
}

TEST(Sgd, nesterov_without_momentum_names_the_key) {
  const auto optimizer = make_optimizer(FakeModel(golden::parameters()),
                                        {.name = "sgd", .momentum = 0, .nesterov = true});
  ASSERT_FALSE(optimizer.has_value());
  EXPECT_EQ(optimizer.error().kind, ErrorKind::Usage);
  EXPECT_THAT(optimizer.error().message, testing::HasSubstr("optimizer.nesterov"));
}

TEST(Adam, a_beta_of_one_names_the_key) {
  const auto optimizer =
      make_optimizer(FakeModel(golden::parameters()), {.name = "adam", .beta2 = 1});
  ASSERT_FALSE(optimizer.has_value());
  EXPECT_THAT(optimizer.error().message, testing::HasSubstr("optimizer.beta2"));
}

TEST(Muon, head_embeddings_and_vectors_are_left_to_adamw) {
  nn::NamedTensors parameters = golden::parameters();
  parameters.emplace_back("tok_emb.weight", golden::initial(4, {5, 3}).requires_grad_());
  const auto optimizer = make_optimizer(FakeModel(parameters), {.name = "muon"});
  ASSERT_TRUE(optimizer.has_value());
  EXPECT_THAT(names_of((*optimizer)->state()),
              testing::ElementsAre("momentum_buffer.conv.weight", "step", "exp_avg.fc.weight",
                                   "exp_avg.fc.bias", "exp_avg.scale", "exp_avg.tok_emb.weight",
                                   "exp_avg_sq.fc.weight", "exp_avg_sq.fc.bias", "exp_avg_sq.scale",
                                   "exp_avg_sq.tok_emb.weight"));
}

TEST(Muon, matrices_that_keep_their_norm_are_turned_and_do_not_decay) {
  const at::Tensor matrix = golden::initial(1, {4, 9}).mul(7).requires_grad_();
  const at::Tensor before = matrix.detach().clone();
  matrix.mutable_grad() = torch::zeros_like(matrix);
  const auto optimizer =
      make_optimizer(FakeModel({{"conv.weight", matrix}}),
                     {.name = "muon", .weight_decay = 0.5, .momentum = 0, .keep_norm = true});
  ASSERT_TRUE(optimizer.has_value());
  (*optimizer)->step(0.1);  // nothing to follow: only the norm changes, to sqrt(4)
  EXPECT_TRUE(at::allclose(matrix, before * (2 / before.norm()), 1e-5, 1e-6));
}

TEST(Muon, the_rest_can_have_a_rate_of_its_own) {
  const at::Tensor vector = torch::ones({3}).requires_grad_();
  vector.mutable_grad() = torch::tensor({5.0F, -0.25F, 1000.0F});
  const auto optimizer =
      make_optimizer(FakeModel({{"scale", vector}}), {.name = "muon", .lr = 0.2, .rest_lr = 0.05});
  ASSERT_TRUE(optimizer.has_value());
  (*optimizer)
      ->step(0.1);  // half of the peak; Adam's first step is the rate by each gradient's sign
  EXPECT_TRUE(at::allclose(vector, torch::tensor({0.975F, 1.025F, 0.975F}), 1e-5, 1e-6));
}

TEST(Muon, the_rest_can_be_updated_by_sgd_with_nesterov_momentum) {
  const at::Tensor vector = torch::ones({2}).requires_grad_();
  const auto optimizer =
      make_optimizer(FakeModel({{"scale", vector}}), {.name = "muon",
                                                      .lr = 0.1,
                                                      .weight_decay = 0.5,
                                                      .rest = config::MuonRest::Sgd,
                                                      .rest_lr = 1,
                                                      .rest_momentum = 0.5});
  ASSERT_TRUE(optimizer.has_value());
  vector.mutable_grad() = torch::tensor({0.5F, -1.0F});
  (*optimizer)->step(0.1);
  // By hand: the gradients with decay are 1 and -0.5, and so is the momentum; x - (g + 0.5 m).
  EXPECT_TRUE(at::allclose(vector, torch::tensor({-0.5F, 1.75F})));
  vector.mutable_grad() = torch::zeros({2});
  (*optimizer)->step(0.05);
  // Decay alone: g = -0.25 and 0.875, m = 0.5 m + g = 0.25 and 0.625; at half the rate.
  EXPECT_TRUE(at::allclose(vector, torch::tensor({-0.4375F, 1.15625F})));
}

}  // namespace
}  // namespace kedge::train
