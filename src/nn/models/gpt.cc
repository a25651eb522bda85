// GPT-2 (Radford et al. 2019): pre-norm decoder blocks, learned positions, the head tied to the
// token embedding; names and initial weights of the original. Linear weights are [out, in].
// Shapes: B sequences, T tokens, C width, H heads, D width of a head, V vocabulary.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/decoder.h"
#include "nn/internal/attention.h"
#include "nn/internal/cached_attention.h"
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

class GptAttention : public Layer {
 public:
  GptAttention(const Making& making, const GptShape& shape) : Layer(making), shape_(shape) {
    add_linear("c_attn", c_attn_, shape.width, 3 * shape.width);
    add_linear("c_proj", c_proj_, shape.width, shape.width);
    dropout_ = add_layer("resid_dropout", std::make_shared<Dropout>(making, shape.dropout));
  }

  at::Tensor decode(const at::Tensor& x_BTC, const DecodePlace& place, KvCache::Layer& layer) {
    const std::vector<at::Tensor> qkv = c_attn_->forward_thirds(x_BTC);
    const at::Tensor y_BHTD = attend_cached(context(), split_heads(qkv[0], shape_.heads),
                                            split_heads(qkv[1], shape_.heads),
                                            split_heads(qkv[2], shape_.heads), place, layer);
    return c_proj_->forward(y_BHTD.transpose(1, 2).flatten(2));
  }

  at::Tensor forward(const at::Tensor& x_BTC, const at::Tensor& seen) {
    const std::vector<at::Tensor> qkv = c_attn_->forward_thirds(x_BTC);
    const at::Tensor y_BHTD =
        attend(split_heads(qkv[0], shape_.heads), split_heads(qkv[1], shape_.heads),
               split_heads(qkv[2], shape_.heads),
               {.seen = seen, .dropout = is_training() ? shape_.dropout : 0.0});
    return dropout_->forward(c_proj_->forward(y_BHTD.transpose(1, 2).flatten(2)));
  }

 private:
  GptShape shape_;
  std::shared_ptr<Linear> c_attn_;
  std::shared_ptr<Linear> c_proj_;
  std::shared_ptr<Dropout> dropout_;
};

class GptMlp : public Layer {
 public:
  GptMlp(const Making& making, const GptShape& shape) : Layer(making) {
    add_linear("c_fc", c_fc_, shape.width, 4 * shape.width);
    add_linear("c_proj", c_proj_, 4 * shape.width, shape.width);
    dropout_ = add_layer("dropout", std::make_shared<Dropout>(making, shape.dropout));
  }

  at::Tensor forward(const at::Tensor& x_BTC) {
    return dropout_->forward(c_proj_->forward(c_fc_->forward(x_BTC, Activation::GeluTanh)));
  }

 private:
  std::shared_ptr<Linear> c_fc_;
  std::shared_ptr<Linear> c_proj_;
  std::shared_ptr<Dropout> dropout_;
};

class GptBlock : public Layer {
 public:
  GptBlock(const Making& making, const GptShape& shape) : Layer(making) {
    ln_1_ = add_layer("ln_1", std::make_shared<LayerNorm>(making, shape.width));
    attn_ = add_layer("attn", std::make_shared<GptAttention>(making, shape));
    ln_2_ = add_layer("ln_2", std::make_shared<LayerNorm>(making, shape.width));
    mlp_ = add_layer("mlp", std::make_shared<GptMlp>(making, shape));
  }

  Flow forward(const Flow& flow) {
    return through(flow, [&](const at::Tensor& x) { return attn_->forward(x, flow.seen); });
  }

  Flow decode(const Flow& flow, const DecodePlace& place, KvCache::Layer& layer) {
    return through(flow, [&](const at::Tensor& x) { return attn_->decode(x, place, layer); });
  }

 private:
  template <typename Attend>
  Flow through(const Flow& flow, const Attend& attend) {
    const AddNormed first = ln_1_->forward_sum(flow.x, flow.delta);
    const AddNormed second = ln_2_->forward_sum(first.sum, attend(first.normed));
    return {.x = second.sum, .delta = mlp_->forward(second.normed), .seen = flow.seen};
  }

  std::shared_ptr<LayerNorm> ln_1_;
  std::shared_ptr<GptAttention> attn_;
  std::shared_ptr<LayerNorm> ln_2_;
  std::shared_ptr<GptMlp> mlp_;
};

// The original's Conv1D layers keep their weights as [in, out], its files have 1024 positions, and
// the tied head may be written twice.
const WeightNames kGptNames = {
    .head = "wte.",
    .tables = {"wte.*", "wpe.*"},
    .transposed = {"*.c_attn.weight", "*.c_proj.weight", "*.c_fc.weight"},
    .longer = {"wpe.weight"},
    .repeated = {"*lm_head.weight"},
};

class Gpt : public Network, public Decoder {
 public:
  Gpt(const Making& making, const GptShape& shape) : Network(making, kGptNames), shape_(shape) {
    wte_ = add_layer("wte", std::make_shared<Embedding>(making, shape.vocab, shape.width));
    wpe_ = add_layer("wpe", std::make_shared<Embedding>(making, shape.context, shape.width));
    dropout_ = add_layer("drop", std::make_shared<Dropout>(making, shape.dropout));
    add_block("stem", {"wte.", "wpe."}, [this](const Flow& flow) { return embed(flow); });
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      const std::string name = fmt::format("h.{}", i);
      layers_.push_back(std::make_shared<GptBlock>(making, shape));
      add_block_layer(name, layers_.back());
    }
    ln_f_ = add_layer("ln_f", std::make_shared<LayerNorm>(making, shape.width));
    add_block("head", {"ln_f.", "wte."},
              [this](const Flow& flow) -> Flow { return {scores_of(flow)}; });
    init_weights(shape.layers);
  }

  KvCache make_cache(std::int64_t batch, std::int64_t room) const override {
    return KvCache::make(batch, room, shape_.layers, shape_.heads, shape_.width / shape_.heads,
                         wte_->weight.options().requires_grad(false));
  }

  at::Tensor decode(const at::Tensor& tokens_BT, const at::Tensor& counts_B,
                    KvCache& cache) override {
    const DecodePlace place(tokens_BT, counts_B, cache);
    const at::Tensor positions_BT = place.positions_BT.clamp_max(shape_.context - 1);
    Flow flow{.x = wte_->forward(tokens_BT) + wpe_->forward(positions_BT)};
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      flow = layers_[i]->decode(flow, place, cache.layers[i]);
    }
    cache.lengths_B.add_(counts_B);
    return scores_of({.x = place.last_of(flow.x), .delta = place.last_of(flow.delta)});
  }

  std::int64_t longest() const override { return shape_.context; }

  bool takes_documents() const override { return true; }

  bool ends_in_linear() const override { return true; }

 private:
  at::Tensor scores_of(const Flow& flow) const {
    return torch::linear(ln_f_->forward_sum(flow.x, flow.delta).normed, wte_->weight);
  }

  Flow begin(const ModelInput& input) const override {
    Flow flow{.x = input.x};
    if (input.documents.defined()) {
      flow.positions = document_positions(input.documents);
      flow.seen = seen_in_documents(input.documents);
    }
    return flow;
  }

  Head head_of(const Flow& flow) override {
    return {.features = ln_f_->forward_sum(flow.x, flow.delta).normed, .weight = wte_->weight};
  }

  Flow embed(const Flow& flow) {
    // 0, 1, ... T-1, counted from the input itself so that a trace takes any length.
    const at::Tensor positions = flow.positions.defined()
                                     ? flow.positions
                                     : torch::ones_like(flow.x.select(0, 0)).cumsum(0).sub(1);
    return {.x = dropout_->forward(wte_->forward(flow.x) + wpe_->forward(positions)),
            .seen = flow.seen};
  }

  void init_weights(std::int64_t layers) {
    const torch::NoGradGuard no_grad;
    // Two sums a block go into the residual stream; their variance must not grow with depth.
    const double residual_std = kGptInitStd / std::sqrt(2.0 * static_cast<double>(layers));
    each_layer([&](const std::string& name, Layer& layer) {
      if (auto* embedding = dynamic_cast<Embedding*>(&layer)) {
        torch::nn::init::normal_(embedding->weight, 0, kGptInitStd);
      } else if (auto* linear = dynamic_cast<Linear*>(&layer)) {
        const bool is_residual = name.ends_with("c_proj");
        torch::nn::init::normal_(linear->weight, 0, is_residual ? residual_std : kGptInitStd);
        torch::nn::init::zeros_(linear->bias);
      }
    });
  }

  GptShape shape_;
  std::shared_ptr<Embedding> wte_;
  std::shared_ptr<Embedding> wpe_;
  std::shared_ptr<Dropout> dropout_;
  std::vector<std::shared_ptr<GptBlock>> layers_;
  std::shared_ptr<LayerNorm> ln_f_;
};

Models::Entry gpt_entry(std::string_view name, GptShape own, std::string_view summary) {
  return {name,
          summary,
          [=](const config::ModelConfig& config, const Signature& signature,
              const Making& making) -> Result<std::unique_ptr<Model>> {
            KEDGE_TRY(require_tokens(name, signature));
            GptShape shape = own;
            shape.layers = config.layers.value_or(own.layers);
            shape.heads = config.heads.value_or(own.heads);
            shape.width = config.width.value_or(own.width);
            shape.dropout = config.dropout.value_or(own.dropout);
            shape.vocab = signature.vocab;
            shape.context = signature.context;
            KEDGE_TRY(require_heads_divide(name, shape.width, shape.heads));
            return std::make_unique<Gpt>(making, shape);
          },
          {"layers", "heads", "width", "dropout", "vocab"}};
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

}  // namespace
}  // namespace kedge::nn
