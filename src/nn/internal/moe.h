// A mixture of experts in the place of a block's MLP (Shazeer et al. 2017; Jiang et al. 2024): a
// router sends each token through a few of many MLPs. No token is dropped. Names and numerics are
// those of transformers' Mixtral, Qwen2-MoE and Qwen3-MoE.
// Shapes: N tokens, K experts of each, E experts, C width, I inner width of an expert.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/internal/gated_mlp.h"
#include "nn/layers.h"
#include "nn/llama_shape.h"

namespace kedge::nn {

// A matrix that no converter exchanges: what decides where tokens go stays as precise as it is.
class Router : public Layer {
 public:
  Router(const Making& making, std::int64_t width, std::int64_t outputs);

  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;  // [outputs, width]
};

class MoeMlp : public Layer {
 public:
  // How tokens come to their experts; all mean the same.
  enum class Way : std::uint8_t {
    Loop,     // expert after expert with the tokens it has; only where memory is the host's
    Grouped,  // sorted by expert, all experts in one grouped product
    Dense,    // every expert on every token: fixed shapes, E / K times the work
  };

  struct Mixed {
    at::Tensor y;
    at::Tensor load_2E =
        {};  // in training: of each expert its tokens, and the sum of its probabilities
  };

  MoeMlp(const Making& making, const LlamaShape& shape);

  Mixed forward(const at::Tensor& x_BTC);

  // Which way forward() goes with such an input.
  Way find_way(const at::Tensor& x) const;

  // The experts' sum by a given way; the shared expert is no part of it. Float32 weights_NK.
  at::Tensor mix(Way way, const at::Tensor& x_NC, const at::Tensor& weights_NK,
                 const at::Tensor& experts_NK);

 private:
  at::Tensor mix_sorted(Way way, const at::Tensor& x_NC, const at::Tensor& weights_NK,
                        const at::Tensor& experts_NK);
  at::Tensor mix_densely(const at::Tensor& x_NC, const at::Tensor& weights_NK,
                         const at::Tensor& experts_NK);
  at::Tensor loop(const at::Tensor& sorted_SC, const at::Tensor& counts_E);
  at::Tensor grouped(const at::Tensor& sorted_SC, const at::Tensor& counts_E);

  MoeShape shape_;
  std::shared_ptr<Router> router_;
  std::vector<std::shared_ptr<GatedMlp>> experts_;
  std::shared_ptr<GatedMlp> shared_;  // null where there is none
  std::shared_ptr<Router> shared_gate_;
};

// Switch Transformer's equations 4 to 6 over all layers at once, as transformers'
// load_balancing_loss_func counts: least where every expert gets as many tokens. `rows`: tokens
// times layers that are in the load.
at::Tensor balance_loss(const at::Tensor& load_2E, std::int64_t rows);

}  // namespace kedge::nn
