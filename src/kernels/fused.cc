#include "kernels/fused.h"

#include <memory>
#include <utility>
#include <vector>

#include "kernels/cross_entropy.h"
#include "kernels/internal/adamw8bit.h"
#include "kernels/internal/batch_norm.h"
#include "kernels/internal/cached_attention.h"
#include "kernels/internal/gated.h"
#include "kernels/internal/joined_linear.h"
#include "kernels/internal/layer_norm.h"
#include "kernels/internal/linear.h"
#include "kernels/internal/max_pool.h"
#include "kernels/internal/rms_norm.h"
#include "kernels/internal/whiten.h"
#include "nn/whitening.h"

namespace kedge::kernels {
namespace {

class CudaOps : public device::FusedOps, public nn::WhitenOps {
 public:
  CudaOps(at::DeviceType device, NormKernels norm, MaxPoolKernels max_pool, WhitenKernels whiten,
          LayerNormKernels layer_norm, RmsNormKernels rms_norm, LinearKernels linear,
          JoinedLinearKernels joined, GatedKernels gated, CachedAttentionKernels cached_attention,
          CrossEntropyKernels entropy, Adamw8bitKernels adamw8bit)
      : device_(device),
        norm_(std::move(norm)),
        max_pool_(std::move(max_pool)),
        whiten_(std::move(whiten)),
        layer_norm_(std::move(layer_norm)),
        rms_norm_(std::move(rms_norm)),
        linear_(std::move(linear)),
        joined_(std::move(joined)),
        gated_(std::move(gated)),
        cached_attention_(std::move(cached_attention)),
        entropy_(std::move(entropy)),
        adamw8bit_(std::move(adamw8bit)) {}

  at::Tensor norm(const device::NormStep& step) override {
    return is_here(step.x) && can_norm(step) ? batch_norm(norm_, step) : at::Tensor();
  }

  at::Tensor max_pool(const at::Tensor& x) override {
    return is_here(x) && can_max_pool(x) ? kernels::max_pool(max_pool_, x) : at::Tensor();
  }

  at::Tensor max_of_image(const at::Tensor& x) override {
    return is_here(x) && can_max_pool(x) ? kernels::max_of_image(max_pool_, x) : at::Tensor();
  }

  at::Tensor whiten(const nn::WhitenStep& step) override {
    return is_here(step.x) && can_whiten(step) ? kernels::whiten(whiten_, step) : at::Tensor();
  }

  device::AddNormed add_norm(const device::AddNormStep& step) override {
    return is_here(step.x) && can_add_norm(step) ? kernels::add_norm(layer_norm_, step)
                                                 : device::AddNormed();
  }

  device::AddNormed add_rms_norm(const device::AddNormStep& step) override {
    return is_here(step.x) && can_add_rms_norm(step) ? kernels::add_rms_norm(rms_norm_, step)
                                                     : device::AddNormed();
  }

  std::vector<at::Tensor> joined_linear(const device::JoinedLinearStep& step) override {
    return is_here(step.x) && can_join_linears(step) ? kernels::joined_linear(joined_, step)
                                                     : std::vector<at::Tensor>();
  }

  at::Tensor unpack(const device::Nf4Matrix& matrix) override {
    return is_here(matrix.codes) && can_unpack(matrix) ? kernels::unpack(joined_.nf4, {matrix})
                                                       : at::Tensor();
  }

  at::Tensor gated(const at::Tensor& gate, const at::Tensor& up) override {
    return is_here(gate) && can_gate(gate, up) ? kernels::gated(gated_, gate, up) : at::Tensor();
  }

  at::Tensor attend_cached(const device::CachedAttentionStep& step) override {
    return is_here(step.q) && can_attend_cached(step)
               ? kernels::attend_cached(cached_attention_, step)
               : at::Tensor();
  }

  at::Tensor linear(const device::LinearStep& step) override {
    return is_here(step.x) && can_linear(step) ? kernels::linear(linear_, step) : at::Tensor();
  }

  std::vector<at::Tensor> linear_thirds(const device::LinearStep& step) override {
    return is_here(step.x) && can_linear_thirds(step) ? kernels::linear_thirds(linear_, step)
                                                      : std::vector<at::Tensor>();
  }

  at::Tensor cross_entropy(const device::CrossEntropyStep& step) override {
    return is_here(step.scores) && can_cross_entropy(step) ? kernels::cross_entropy(entropy_, step)
                                                           : at::Tensor();
  }

  at::Tensor judge_rows(const device::CrossEntropyStep& step, const at::Tensor& inverse_count,
                        bool wants_gradient) override {
    return is_here(step.scores) && can_cross_entropy(step)
               ? kernels::judge_rows(entropy_, step, inverse_count, wants_gradient)
               : at::Tensor();
  }

  bool adamw8bit(const device::Adamw8bitStep& step) override {
    const bool can = is_here(step.parameter) && can_adamw8bit(step);
    if (can) {
      kernels::adamw8bit(adamw8bit_, step);
    }
    return can;
  }

  bool count_hits(const device::ScoredStep& step, at::Tensor& sums) override {
    const bool can = is_here(step.scores) && can_count_hits(step);
    if (can) {
      kernels::count_hits(entropy_, step, sums);
    }
    return can;
  }

 private:
  bool is_here(const at::Tensor& tensor) const { return tensor.device().type() == device_; }

  at::DeviceType device_;
  NormKernels norm_;
  MaxPoolKernels max_pool_;
  WhitenKernels whiten_;
  LayerNormKernels layer_norm_;
  RmsNormKernels rms_norm_;
  LinearKernels linear_;
  JoinedLinearKernels joined_;
  GatedKernels gated_;
  CachedAttentionKernels cached_attention_;
  CrossEntropyKernels entropy_;
  Adamw8bitKernels adamw8bit_;
};

}  // namespace

Result<device::FusedOps*> fused_ops(device::Plugin& plugin) {
  // Never freed: graphs and autograd nodes may outlive everything else at exit.
  static CudaOps* compiled = nullptr;
  if (compiled == nullptr) {
    compiled = new CudaOps(
        plugin.device(), KEDGE_TRY(make_norm_kernels(plugin)),
        KEDGE_TRY(make_max_pool_kernels(plugin)), KEDGE_TRY(make_whiten_kernels(plugin)),
        LayerNormKernels(plugin), RmsNormKernels(plugin), KEDGE_TRY(make_linear_kernels(plugin)),
        KEDGE_TRY(make_joined_linear_kernels(plugin)), KEDGE_TRY(make_gated_kernels(plugin)),
        KEDGE_TRY(make_cached_attention_kernels(plugin)),
        KEDGE_TRY(make_cross_entropy_kernels(plugin)), KEDGE_TRY(make_adamw8bit_kernels(plugin)));
  }
  return compiled;
}

}  // namespace kedge::kernels
