// The layers of Llama's family (models/llama.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "nn/decoder.h"
#include "nn/internal/gated_mlp.h"
#include "nn/internal/moe.h"
#include "nn/internal/network.h"
#include "nn/internal/rope.h"
#include "nn/llama_shape.h"

namespace kedge::nn {

struct DecodePlace;

class LlamaAttention : public Layer {
 public:
  LlamaAttention(const Making& making, const LlamaShape& shape, std::int64_t layer,
                 std::shared_ptr<Rope> rope);

  at::Tensor forward(const at::Tensor& x_BTC, const Flow& flow);
  at::Tensor decode(const at::Tensor& x_BTC, const DecodePlace& place, KvCache::Layer& layer);

 private:
  struct Heads {
    at::Tensor q;  // [B, H, T, D]
    at::Tensor k;  // [B, K, T, D]
    at::Tensor v;
  };

  Heads heads_of(const at::Tensor& x_BTC, const at::Tensor& positions);

  LlamaShape shape_;
  std::int64_t window_;
  std::shared_ptr<Rope> rope_;
  std::shared_ptr<Linear> q_proj_;
  std::shared_ptr<Linear> k_proj_;
  std::shared_ptr<Linear> v_proj_;
  std::shared_ptr<Linear> o_proj_;
  std::shared_ptr<RmsNorm> q_norm_;  // null where the family has none
  std::shared_ptr<RmsNorm> k_norm_;
};

class LlamaBlock : public Layer {
 public:
  LlamaBlock(const Making& making, const LlamaShape& shape, std::int64_t layer,
             const std::shared_ptr<Rope>& rope);

  Flow forward(const Flow& flow);
  Flow decode(const Flow& flow, const DecodePlace& place, KvCache::Layer& layer);

 private:
  template <typename Attend>
  Flow through(const Flow& flow, const Attend& attend);

  std::shared_ptr<RmsNorm> input_norm_;
  std::shared_ptr<LlamaAttention> attention_;
  std::shared_ptr<RmsNorm> mlp_norm_;
  std::shared_ptr<GatedMlp> mlp_;  // null where there are experts,
  std::shared_ptr<MoeMlp> moe_;    // else these are
};

class Llama : public Network, public Decoder {
 public:
  Llama(const Making& making, const LlamaShape& shape);

  KvCache make_cache(std::int64_t batch, std::int64_t room) const override;
  at::Tensor decode(const at::Tensor& tokens_BT, const at::Tensor& counts_B,
                    KvCache& cache) override;

  std::int64_t longest() const override { return shape_.context; }

  bool takes_documents() const override { return true; }

  bool ends_in_linear() const override;

  std::optional<HuggingFaceLayout> hugging_face_layout(std::string_view dtype) const override;

  std::optional<double> aux_loss_coefficient() const override;

  at::Tensor take_aux_loss() override { return std::exchange(aux_loss_, {}); }

 private:
  Flow begin(const ModelInput& input) const override;
  Head head_of(const Flow& flow) override;
  Flow embed(const Flow& flow) const;
  at::Tensor normed_of(const Flow& flow);
  at::Tensor scores_of(const Flow& flow);
  void init_weights();

  LlamaShape shape_;
  std::shared_ptr<Rope> rope_;
  std::shared_ptr<Embedding> embed_;
  std::vector<std::shared_ptr<LlamaBlock>> blocks_;
  std::shared_ptr<RmsNorm> norm_;
  std::shared_ptr<Linear> head_;  // null where it is tied
  at::Tensor aux_loss_;           // of the last forward pass in training, with its gradients
};

// On the device of the making's context, in the type that it trains in.
Result<std::unique_ptr<Model>> make_llama(const LlamaShape& shape, const Making& making);

}  // namespace kedge::nn
