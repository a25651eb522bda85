// GPT-2 (Radford et al. 2019): pre-norm decoder blocks, learned positions, the head tied to the
// token embedding; names and initial weights of the original. Linear weights are [out, in];
// the original's Conv1D files are transposed by load_weights.
// Shapes: B sequences, T tokens, C width, H heads, D width of a head, V vocabulary.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nn/dropout.h"
#include "nn/internal/layers.h"
#include "nn/internal/modules.h"
#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

struct GptShape {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  std::int64_t vocab = 0;
  std::int64_t context = 0;
  double dropout = 0.0;
};

constexpr double kGptInitStd = 0.02;

class GptAttention : public torch::nn::Module {
 public:
  explicit GptAttention(const GptShape& shape) : shape_(shape) {
    c_attn_ = register_module("c_attn", torch::nn::Linear(shape.width, 3 * shape.width));
    c_proj_ = register_module("c_proj", torch::nn::Linear(shape.width, shape.width));
    dropout_ = register_module("resid_dropout", torch::nn::Dropout(shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    const std::vector<at::Tensor> qkv = linear_thirds(c_attn_, x_BTC);
    const at::Tensor y_BHTD = torch::scaled_dot_product_attention(
        split_heads(qkv[0], shape_.heads), split_heads(qkv[1], shape_.heads),
        split_heads(qkv[2], shape_.heads), {}, is_training() ? shape_.dropout : 0.0,
        /*is_causal=*/true);
    return dropout_(linear(c_proj_, y_BHTD.transpose(1, 2).flatten(2)));
  }

 private:
  GptShape shape_;
  torch::nn::Linear c_attn_{nullptr};
  torch::nn::Linear c_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

class GptMlp : public torch::nn::Module {
 public:
  explicit GptMlp(const GptShape& shape) {
    c_fc_ = register_module("c_fc", torch::nn::Linear(shape.width, 4 * shape.width));
    c_proj_ = register_module("c_proj", torch::nn::Linear(4 * shape.width, shape.width));
    dropout_ = register_module("dropout", torch::nn::Dropout(shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    return dropout_(linear(c_proj_, linear(c_fc_, x_BTC, Activation::GeluTanh)));
  }

 private:
  torch::nn::Linear c_fc_{nullptr};
  torch::nn::Linear c_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

class GptBlock : public torch::nn::Module {
 public:
  explicit GptBlock(const GptShape& shape) {
    const torch::nn::LayerNormOptions norm({shape.width});
    ln_1_ = register_module("ln_1", torch::nn::LayerNorm(norm));
    attn_ = register_module("attn", std::make_shared<GptAttention>(shape));
    ln_2_ = register_module("ln_2", torch::nn::LayerNorm(norm));
    mlp_ = register_module("mlp", std::make_shared<GptMlp>(shape));
  }

  // The sum of both is the stream that a block works on. What it adds last it leaves in `delta`,
  // for the next normalisation to add.
  void forward(at::Tensor& x_BTC, at::Tensor& delta_BTC) {
    const AddNormed first = add_norm(ln_1_, x_BTC, delta_BTC);
    const AddNormed second = add_norm(ln_2_, first.sum, attn_->forward(first.normed));
    x_BTC = second.sum;
    delta_BTC = mlp_->forward(second.normed);
  }

 private:
  torch::nn::LayerNorm ln_1_{nullptr};
  std::shared_ptr<GptAttention> attn_;
  torch::nn::LayerNorm ln_2_{nullptr};
  std::shared_ptr<GptMlp> mlp_;
};

class Gpt : public Network {
 public:
  explicit Gpt(const GptShape& shape) {
    wte_ = register_module("wte", torch::nn::Embedding(shape.vocab, shape.width));
    wpe_ = register_module("wpe", torch::nn::Embedding(shape.context, shape.width));
    dropout_ = register_module("drop", torch::nn::Dropout(shape.dropout));
    const auto blocks = register_module("h", torch::nn::ModuleList());
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      blocks_.push_back(std::make_shared<GptBlock>(shape));
      blocks->push_back(blocks_.back());
    }
    ln_f_ =
        register_module("ln_f", torch::nn::LayerNorm(torch::nn::LayerNormOptions({shape.width})));
    init_weights(shape.layers);
  }

  at::Tensor forward(const at::Tensor& tokens_BT) override {
    // 0, 1, ... T-1, counted from the input itself so that a trace takes any length.
    const at::Tensor positions_T = torch::ones_like(tokens_BT.select(0, 0)).cumsum(0).sub(1);
    at::Tensor x_BTC = dropout_(wte_(tokens_BT) + wpe_(positions_T));
    at::Tensor delta_BTC;
    for (const std::shared_ptr<GptBlock>& block : blocks_) {
      block->forward(x_BTC, delta_BTC);
    }
    return torch::linear(add_norm(ln_f_, x_BTC, delta_BTC).normed, wte_->weight);
  }

 private:
  void init_weights(std::int64_t layers) {
    const torch::NoGradGuard no_grad;
    // Two sums a block go into the residual stream; their variance must not grow with depth.
    const double residual_std = kGptInitStd / std::sqrt(2.0 * static_cast<double>(layers));
    for (const auto& item : named_modules({}, /*include_self=*/false)) {
      if (const auto* embedding = item.value()->as<torch::nn::Embedding>()) {
        torch::nn::init::normal_(embedding->weight, 0, kGptInitStd);
      } else if (const auto* linear = item.value()->as<torch::nn::Linear>()) {
        const bool is_residual = item.key().ends_with("c_proj");
        torch::nn::init::normal_(linear->weight, 0, is_residual ? residual_std : kGptInitStd);
        torch::nn::init::zeros_(linear->bias);
      }
    }
  }

  torch::nn::Embedding wte_{nullptr};
  torch::nn::Embedding wpe_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  std::vector<std::shared_ptr<GptBlock>> blocks_;
  torch::nn::LayerNorm ln_f_{nullptr};
};

Models::Entry gpt_entry(std::string_view name, GptShape own, std::string_view summary) {
  return {
      name, summary,
      [=](const config::ModelConfig& config, const Task& task) -> Result<std::unique_ptr<Model>> {
        KEDGE_TRY(require_tokens(name, task));
        GptShape shape = own;
        shape.layers = config.layers.value_or(own.layers);
        shape.heads = config.heads.value_or(own.heads);
        shape.width = config.width.value_or(own.width);
        shape.dropout = config.dropout.value_or(own.dropout);
        shape.vocab = task.vocab;
        shape.context = task.context;
        KEDGE_TRY(require_heads_divide(name, shape.width, shape.heads));
        return make_network_model(std::make_shared<Gpt>(shape), "wte.");
      }};
}

const Models::Add kAddNano(gpt_entry("gpt-nano", {.layers = 3, .heads = 3, .width = 48},
                                     "GPT-2 layout, 3 layers of width 48 with 3 heads"));
const Models::Add kAddMicro(gpt_entry("gpt-micro", {.layers = 4, .heads = 4, .width = 128},
                                      "GPT-2 layout, 4 layers of width 128 with 4 heads"));
const Models::Add kAddMini(gpt_entry("gpt-mini", {.layers = 6, .heads = 6, .width = 192},
                                     "GPT-2 layout, 6 layers of width 192 with 6 heads"));
const Models::Add kAddGpt2(
    gpt_entry("gpt2", {.layers = 12, .heads = 12, .width = 768},
              "GPT-2, 12 layers of width 768 with 12 heads (124.4 M parameters "
              "with 50257 tokens and context 1024)"));
const TakesDropout kGptTakesDropout({"gpt-nano", "gpt-micro", "gpt-mini", "gpt2"});

}  // namespace
}  // namespace kedge::nn
