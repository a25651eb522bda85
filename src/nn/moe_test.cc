// Mixtures of experts: every way through them means the same; files of transformers 5.
#include "nn/internal/moe.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "checkpoint/tensor_file.h"
#include "nn/internal/golden.h"
#include "nn/internal/llama.h"
#include "nn/tensor_view.h"
#include "nn/weights.h"

namespace kedge::nn {
namespace {

using Way = MoeMlp::Way;

LlamaShape layout_of(const std::string& family) {
  return {
      .family = family,
      .layers = 2,
      .width = 32,
      .heads = 4,
      .kv_heads = 2,
      .head_width = 8,
      .ffn = 48,
      .vocab = 40,
      .context = 64,
      .moe = {
          .experts = 4, .per_token = 2, .ffn = 24, .shared_ffn = family == "qwen2_moe" ? 16 : 0}};
}

struct Outcome {
  at::Tensor y;
  std::vector<at::Tensor> gradients;
};

// Of a mixture whose router sends most tokens to two of four experts, and none to the last.
Outcome outcome_of(Way way, at::ScalarType type) {
  torch::manual_seed(1);
  MoeMlp moe({}, layout_of("mixtral"));
  moe.each_tensor([&](const std::string&, at::Tensor& tensor, bool) {
    const torch::NoGradGuard no_grad;
    tensor.set_data(golden::noise(3, tensor.sizes()).to(type) / 4);
  });
  const at::Tensor x = golden::noise(5, {12, 32}).to(type).requires_grad_();
  const at::Tensor experts =
      torch::tensor({{0, 1}, {1, 0}, {2, 1}, {0, 2}}, at::kLong).repeat({3, 1});
  const at::Tensor weights = (golden::noise(6, {12, 2}).abs() + 0.1).requires_grad_();
  Outcome outcome{.y = moe.mix(way, x, weights, experts), .gradients = {}};
  (outcome.y * golden::noise(7, {12, 32})).sum().backward();
  moe.each_tensor([&](const std::string& name, at::Tensor& tensor, bool) {
    if (name.starts_with("experts.")) {
      outcome.gradients.push_back(tensor.grad());
    }
  });
  outcome.gradients.insert(outcome.gradients.end(), {x.grad(), weights.grad()});
  return outcome;
}

void expect_same(const Outcome& outcome, const Outcome& expected, double tolerance) {
  EXPECT_TRUE(torch::allclose(outcome.y, expected.y, tolerance, tolerance));
  ASSERT_EQ(outcome.gradients.size(), expected.gradients.size());
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    ASSERT_TRUE(outcome.gradients[i].defined()) << i;
    EXPECT_TRUE(torch::allclose(outcome.gradients[i], expected.gradients[i], tolerance, tolerance))
        << i;
  }
}

TEST(Moe, means_the_same_whether_experts_are_looped_over_or_see_every_token) {
  expect_same(outcome_of(Way::Loop, at::kDouble), outcome_of(Way::Dense, at::kDouble), 1e-12);
}

TEST(Moe, means_the_same_as_one_grouped_product) {
  expect_same(outcome_of(Way::Grouped, at::kFloat), outcome_of(Way::Loop, at::kFloat), 1e-5);
  expect_same(outcome_of(Way::Grouped, at::kBFloat16), outcome_of(Way::Loop, at::kBFloat16), 4e-2);
}

std::int64_t reads = 0;
std::int64_t inside = 0;  // libtorch's grouped product, which on a CPU is a loop

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  inside += name == "aten::_grouped_mm" ? 1 : 0;
  reads += inside == 0 && (name == "aten::item" || name == "aten::nonzero") ? 1 : 0;
  return nullptr;
}

void leave(const at::RecordFunction& function, at::ObserverContext*) {
  inside -= std::string_view(function.name()) == "aten::_grouped_mm" ? 1 : 0;
}

// A GPU would wait for each; a captured step may have none.
TEST(Moe, reads_nothing_back_on_the_ways_that_a_gpu_goes) {
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(enter, leave));
  reads = 0;
  outcome_of(Way::Dense, at::kFloat);
  outcome_of(Way::Grouped, at::kBFloat16);
  EXPECT_EQ(reads, 0);
  torch::ones({1}).item<float>();
  EXPECT_GT(reads, 0);
  at::removeCallback(handle);
}

// All tokens to both of two experts evenly: 2 experts * sum of (1 * 1/2) twice.
TEST(Moe, is_balanced_at_as_many_as_a_token_passes) {
  const at::Tensor even = torch::tensor({{10.0, 10.0}, {5.0, 5.0}});
  EXPECT_DOUBLE_EQ(balance_loss(even, 10).item<double>(), 2);
  const at::Tensor one_sided = torch::tensor({{10.0, 0.0}, {9.0, 1.0}});
  EXPECT_NEAR(balance_loss(one_sided, 10).item<double>(), 1.8, 1e-6);
}

// As transformers 5 writes with save_original_format=False.
void write_fused(const Model& model, const Path& file, std::int64_t experts) {
  NamedTensors fused;
  std::map<std::string, std::vector<at::Tensor>> pieces;
  for (const auto& [name, tensor] : model.parameters()) {
    std::string own = name;
    if (const auto at = own.find("block_sparse_moe"); at != std::string::npos) {
      own.replace(at, std::string("block_sparse_moe").size(), "mlp");
    }
    const auto at = own.find(".experts.");
    if (at == std::string::npos) {
      fused.emplace_back(own, tensor.detach());
      continue;
    }
    const bool is_down = own.contains("down_proj") || own.contains(".w2.");
    pieces[own.substr(0, at) + (is_down ? ".experts.down_proj" : ".experts.gate_up_proj")]
        .push_back(tensor.detach());
  }
  for (const auto& [name, parts] : pieces) {
    const at::Tensor all = torch::cat(parts);
    fused.emplace_back(name, all.view({experts, -1, all.size(1)}));
  }
  std::vector<checkpoint::TensorView> views;
  for (const auto& [name, tensor] : fused) {
    views.push_back(to_view(name, tensor));
  }
  ASSERT_TRUE(checkpoint::write_safetensors(file, views, {}));
}

TEST(Moe, loads_experts_that_a_file_holds_in_one_tensor) {
  const Path file =
      std::filesystem::temp_directory_path() / ("moe." + std::to_string(getpid()) + ".safetensors");
  for (const char* family : {"mixtral", "qwen2_moe", "qwen3_moe"}) {
    const auto model = make_llama(layout_of(family), {}).value();
    write_fused(*model, file, 4);
    torch::manual_seed(2);
    const auto other = make_llama(layout_of(family), {}).value();
    const auto report = load_weights(*other, file);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->unused.empty()) << family;
    const NamedTensors expected = model->parameters();
    const NamedTensors actual = other->parameters();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(torch::equal(actual[i].second, expected[i].second)) << expected[i].first;
    }
  }
  std::filesystem::remove(file);
}

TEST(Moe, says_nothing_of_its_balance_outside_training) {
  const auto model = make_llama(layout_of("mixtral"), {}).value();
  const at::Tensor tokens = torch::zeros({1, 4}, at::kLong);
  model->set_training(false);
  model->forward(tokens);
  EXPECT_FALSE(model->take_aux_loss().defined());
  model->set_training(true);
  model->forward(tokens);
  EXPECT_TRUE(model->take_aux_loss().defined());
}

}  // namespace
}  // namespace kedge::nn
