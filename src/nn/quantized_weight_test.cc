#include "nn/quantized_weight.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "checkpoint/tensor_file.h"
#include "core/hex.h"
#include "core/md5.h"
#include "core/scratch_folder.h"
#include "nn/block_codes.h"
#include "nn/internal/golden.h"
#include "nn/lora.h"
#include "nn/model.h"
#include "nn/tensor_view.h"
#include "nn/weights.h"

namespace kedge::nn {
namespace {

const nlohmann::json& golden_values() {
  static const nlohmann::json all = [] {
    std::ifstream file(std::string(KEDGE_FIXTURES) + "/nn/quantized.json");
    return nlohmann::json::parse(file);
  }();
  return all;
}

std::string hex_of(const at::Tensor& tensor) {
  return render_hex({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
}

std::string md5_of(const at::Tensor& tensor) {
  Md5 md5;
  md5.add({static_cast<const std::uint8_t*>(tensor.const_data_ptr()), tensor.nbytes()});
  const auto digest = md5.finish();
  return render_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

config::ModelConfig quantized_as(config::Quantize quantize) {
  config::ModelConfig config;
  config.name = "llama";
  config.layers = 2;
  config.width = 48;
  config.heads = 3;
  config.kv_heads = 1;
  config.ffn = 80;
  config.quantize = quantize;
  return config;
}

constexpr Signature kSignature{.context = 8, .vocab = 32};

at::Tensor tokens() {
  return torch::arange(16, torch::kInt64).view({2, 8});
}

TEST(BlockCodes, tables_are_those_of_bitsandbytes) {
  const nlohmann::json& tables = golden_values().at("tables");
  EXPECT_EQ(hex_of(nf4_table()), tables.at("nf4"));
  EXPECT_EQ(hex_of(dynamic_table(/*is_signed=*/true)), tables.at("signed"));
  EXPECT_EQ(hex_of(dynamic_table(/*is_signed=*/false)), tables.at("unsigned"));
}

TEST(Nf4, bytes_are_those_of_bitsandbytes) {
  for (const nlohmann::json& test : golden_values().at("nf4")) {
    const auto shape = test.at("shape").get<std::vector<std::int64_t>>();
    SCOPED_TRACE(test.at("shape").dump());
    const at::Tensor values =
        golden::noise(7, shape) * torch::arange(shape[0], torch::kFloat).unsqueeze(1);
    config::ModelConfig config = quantized_as(config::Quantize::Nf4);
    config.double_quant = test.at("double_quant");
    const auto weight = make_quantized_weight(config, shape, at::kCPU);
    weight->store(values);
    const device::Nf4Matrix matrix = weight->nf4().value();
    EXPECT_EQ(hex_of(matrix.codes), test.at("codes"));
    EXPECT_EQ(hex_of(matrix.scales), test.at("scales"));
    if (config.double_quant) {
      EXPECT_EQ(hex_of(matrix.offset), test.at("offset"));
      EXPECT_EQ(hex_of(matrix.nested_scales), test.at("nested_scales"));
    }
    EXPECT_EQ(md5_of(weight->unpack(at::kFloat)), test.at("values"));
    EXPECT_EQ(md5_of(weight->unpack(at::kBFloat16)), test.at("bfloat16"));
  }
}

TEST(Int8, rows_are_parts_of_127_of_their_greatest_value) {
  const auto weight = make_quantized_weight(quantized_as(config::Quantize::Int8), {2, 4}, at::kCPU);
  weight->store(torch::tensor({{254.0F, -254.0F, 3.1F, 0.9F}, {0.0F, 0.0F, 0.0F, 0.0F}}));
  EXPECT_TRUE(at::equal(weight->unpack(at::kFloat),
                        torch::tensor({{254.0F, -254.0F, 4.0F, 0.0F}, {0.0F, 0.0F, 0.0F, 0.0F}})));
}

TEST(Fp8, rows_are_floats_with_three_bits_of_fraction) {
  const auto weight = make_quantized_weight(quantized_as(config::Quantize::Fp8), {1, 4}, at::kCPU);
  // The scale is 2; e4m3 has 1, 1.125 and, next to 448, 416.
  weight->store(torch::tensor({{896.0F, -2.1F, 2.2F, 830.0F}}));
  EXPECT_TRUE(
      at::equal(weight->unpack(at::kFloat), torch::tensor({{896.0F, -2.0F, 2.25F, 832.0F}})));
}

class Quantized : public testing::TestWithParam<config::Quantize> {};

TEST_P(Quantized, products_and_gradients_are_those_of_what_is_kept) {
  torch::manual_seed(1);
  const auto weight = make_quantized_weight(quantized_as(GetParam()), {24, 64}, at::kCPU);
  weight->store(torch::randn({24, 64}));
  const at::Tensor x = torch::randn({3, 5, 64}).requires_grad_();
  const at::Tensor bias = torch::randn({24});
  const at::Tensor kept = weight->unpack(at::kFloat);
  const at::Tensor y = weight->product(x, bias);
  const at::Tensor upstream = torch::randn_like(y);
  y.backward(upstream);
  // fp8 rounds what it multiplies with, by 1 in 32 at most.
  const double tolerance = GetParam() == config::Quantize::Fp8 ? 0.05 : 1e-4;
  const at::Tensor wanted = torch::linear(x, kept, bias);
  EXPECT_LT((y - wanted).norm().item<double>(), tolerance * wanted.norm().item<double>());
  EXPECT_TRUE(at::allclose(x.grad(), upstream.matmul(kept), 1e-4, 1e-4));
}

TEST_P(Quantized, few_bits_are_near_the_values) {
  torch::manual_seed(1);
  const auto weight = make_quantized_weight(quantized_as(GetParam()), {64, 128}, at::kCPU);
  const at::Tensor values = torch::randn({64, 128});
  weight->store(values.to(at::kBFloat16));
  const double error = (weight->unpack(at::kFloat) - values).norm().item<double>();
  EXPECT_LT(error / values.norm().item<double>(), GetParam() == config::Quantize::Nf4 ? 0.1 : 0.04);
  EXPECT_LT(weight->size_bytes(), GetParam() == config::Quantize::Nf4 ? 64 * 128 : 64 * 140);
}

// The weights of a plain model are loaded into a quantized one from a file, and what is kept of
// them into the plain one.
TEST_P(Quantized, a_model_computes_with_what_is_kept_of_a_file) {
  torch::manual_seed(2);
  const ScratchFolder folder;
  const auto plain = make_model(quantized_as(config::Quantize::None), kSignature).value();
  std::vector<checkpoint::TensorView> views;
  for (const auto& [name, tensor] : plain->parameters()) {
    views.push_back(to_view(name, tensor));
  }
  const Path file = folder.path() / "w.safetensors";
  ASSERT_TRUE(checkpoint::write_safetensors(file, views, {}));
  for (const bool has_memory : {true, false}) {
    const auto model =
        make_model(quantized_as(GetParam()), kSignature, {.has_memory = has_memory}).value();
    model->allocate(at::kCPU);
    ASSERT_TRUE(load_weights(*model, file));
    EXPECT_EQ(count_parameters(*model), count_parameters(*plain));
    const auto packed = quantized_weights(*model);
    EXPECT_EQ(packed.size(), 14);
    for (const auto& [name, tensor] : plain->parameters()) {
      if (const auto found = packed.find(name); found != packed.end()) {
        tensor.detach().copy_(found->second->unpack(at::kFloat));
      }
    }
    const torch::NoGradGuard no_grad;
    model->set_training(false);
    const at::Tensor wanted = plain->forward(tokens());
    const double error = (model->forward(tokens()) - wanted).norm().item<double>();
    EXPECT_LT(error / wanted.norm().item<double>(),
              GetParam() == config::Quantize::Fp8 ? 0.1 : 1e-4);
  }
}

TEST_P(Quantized, adapters_are_trained_beside_it_and_not_merged_into_it) {
  torch::manual_seed(3);
  config::ModelConfig config = quantized_as(GetParam());
  config.lora.rank = 2;
  const auto model = make_model(config, kSignature).value();
  fill_quantized(*model);
  ASSERT_TRUE(freeze_all_but_adapters(*model));
  for (const auto& [name, tensor] : model->parameters()) {
    if (name.ends_with("lora_B.weight")) {
      tensor.detach().normal_();
    }
  }
  const at::Tensor before = model->forward(tokens());
  before.sum().backward();
  for (const auto& [name, tensor] : model->parameters()) {
    EXPECT_EQ(tensor.grad().defined(), is_adapter_name(name)) << name;
  }
  EXPECT_EQ(merge_adapters(*model), 0);
  EXPECT_TRUE(at::equal(model->forward(tokens()), before));
}

std::string name_of_case(const testing::TestParamInfo<config::Quantize>& info) {
  return std::string(config::name_of(info.param));
}

INSTANTIATE_TEST_SUITE_P(Formats, Quantized,
                         testing::Values(config::Quantize::Nf4, config::Quantize::Int8,
                                         config::Quantize::Fp8),
                         name_of_case);

}  // namespace
}  // namespace kedge::nn
