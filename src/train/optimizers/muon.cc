#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <torch/types.h>

#include "train/optimizers/foreach_optimizer.h"

namespace kedge::train {
namespace {

// Keller Jordan's quintic iteration, as in torch.optim.Muon.
constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;
constexpr double kNormMin = 1e-7;

// A bfloat16 product on a GPU. CPUs without such instructions take many times as long for one
// as for a float product, so there its inputs and results are floats that bfloat16 can hold.
at::Tensor rounded(const at::Tensor& x) {
  const at::Tensor narrow = x.to(at::kBFloat16);
  return x.is_cpu() ? narrow.to(at::kFloat) : narrow;
}

// Brings the singular values of each matrix of a [N, rows, cols] batch near 1. In bfloat16, as the
// authors do: the iteration forgives its rounding.
at::Tensor orthogonalize(const at::Tensor& batch, std::int64_t iterations) {
  const bool is_tall = batch.size(1) > batch.size(2);
  at::Tensor x = rounded(batch);
  if (is_tall) {
    x = x.transpose(1, 2);
  }
  const at::Tensor norm = rounded(at::linalg_vector_norm(x, 2, {1, 2}, /*keepdim=*/true));
  x = rounded(x / norm.clamp_min(kNormMin));
  for (std::int64_t i = 0; i < iterations; ++i) {
    const at::Tensor gram = rounded(at::bmm(x, x.transpose(1, 2)));
    const at::Tensor polynomial = rounded(at::baddbmm(gram, gram, gram, kB, kC));
    x = rounded(at::baddbmm(x, polynomial, x, kA));
  }
  return is_tall ? x.transpose(1, 2) : x;
}

void bring_to_norm(const std::vector<at::Tensor>& parameters, double norm) {
  std::vector<at::Tensor> excess = at::_foreach_norm(parameters, 2);
  at::_foreach_div_(excess, norm);
  at::_foreach_clamp_min_(excess, kNormMin);
  at::_foreach_div_(parameters, excess);
}

class HiddenMatrices : public ForeachOptimizer {
 public:
  HiddenMatrices(const config::OptimizerConfig& config, const ParameterGroups& groups)
      : ForeachOptimizer(groups, {.names = {"momentum_buffer"}}),
        momentum_(config.momentum),
        keeps_norm_(config.keep_norm),
        iterations_(config.iterations) {}

 protected:
  void update(UpdateLists& lists, const Rate& rate) override {
    at::_foreach_lerp_(lists.state[0], lists.gradients, 1 - momentum_);
    const std::vector<at::Tensor> directions =
        at::_foreach_lerp(lists.gradients, lists.state[0], momentum_);
    if (!keeps_norm_) {
      decay(lists, rate);
    }
    // Matrices of one shape go through the iteration together: a transformer's layers are one
    // batch of a few kernels.
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> by_shape;
    for (std::size_t i = 0; i < directions.size(); ++i) {
      const std::int64_t rows = directions[i].size(0);
      by_shape[{rows, directions[i].numel() / std::max<std::int64_t>(1, rows)}].push_back(i);
    }
    for (const auto& [shape, members] : by_shape) {
      const auto longer = static_cast<double>(std::max(shape.first, shape.second));
      apply(lists, directions, members, keeps_norm_ ? rate : rate.times(0.2 * std::sqrt(longer)));
    }
  }

 private:
  void apply(UpdateLists& lists, const std::vector<at::Tensor>& directions,
             const std::vector<std::size_t>& members, const Rate& rate) const {
    std::vector<at::Tensor> matrices;
    for (const std::size_t i : members) {
      matrices.push_back(directions[i].flatten(1));
    }
    const at::Tensor batch =
        orthogonalize(at::stack(matrices), iterations_).to(matrices.front().scalar_type());
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> updates;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const at::Tensor& parameter = lists.parameters[members[k]];
      parameters.push_back(parameter);
      updates.push_back(batch[static_cast<std::int64_t>(k)].reshape(parameter.sizes()));
    }
    if (keeps_norm_) {
      bring_to_norm(parameters, std::sqrt(static_cast<double>(matrices.front().size(0))));
    }
    descend(parameters, updates, rate);
  }

  double momentum_;
  bool keeps_norm_;
  std::int64_t iterations_;
};

bool is_hidden_matrix(const ParameterGroup& group, const std::string& name,
                      const at::Tensor& parameter) {
  return parameter.dim() >= 2 && !group.names.is_head(name) && !group.names.is_table(name);
}

// Hidden matrices (two dimensions or more; a convolution's weight is flattened to [out, rest]) by
// Muon; vectors, tables and the model's head (WeightNames) by another optimizer.
// One rate can serve both Muon and AdamW because Muon's is scaled by 0.2 * sqrt(max(rows, cols)) to
// the size of AdamW's updates (adjust_lr_fn="match_rms_adamw" in PyTorch), unless matrices keep
// their norm.
class Muon : public Optimizer {
 public:
  Muon(std::unique_ptr<Optimizer> matrices, std::unique_ptr<Optimizer> rest,
       double rest_rate_factor)
      : matrices_(std::move(matrices)),
        rest_(std::move(rest)),
        rest_rate_factor_(rest_rate_factor) {}

  void step(const Rate& rate) override {
    matrices_->step(rate);
    rest_->step(rate.times(rest_rate_factor_));
  }

  nn::NamedTensors state() override {
    nn::NamedTensors all = matrices_->state();
    for (auto& named : rest_->state()) {
      all.push_back(std::move(named));
    }
    return all;
  }

 private:
  std::unique_ptr<Optimizer> matrices_;
  std::unique_ptr<Optimizer> rest_;
  double rest_rate_factor_;  // of the rate
};

Result<std::unique_ptr<Optimizer>> make_rest(config::OptimizerConfig config,
                                             const ParameterGroups& groups) {
  if (config.rest == config::MuonRest::AdamW) {
    return Optimizers::make("optimizer", "adamw", config, groups);
  }
  config.momentum = config.rest_momentum;
  config.nesterov = config.momentum > 0;
  return Optimizers::make("optimizer", "sgd", config, groups);
}

Result<std::unique_ptr<Optimizer>> make_muon(const config::OptimizerConfig& config,
                                             const ParameterGroups& groups) {
  ParameterGroups matrices;
  ParameterGroups rest;
  for (const ParameterGroup& group : groups) {
    ParameterGroup inner{.parameters = {}, .weight_decay = group.weight_decay};
    ParameterGroup outer = inner;
    for (const auto& [name, parameter] : group.parameters) {
      (is_hidden_matrix(group, name, parameter) ? inner : outer)
          .parameters.emplace_back(name, parameter);
    }
    matrices.push_back(std::move(inner));
    rest.push_back(std::move(outer));
  }
  const bool has_own_rate = config.rest_lr > 0 && config.lr > 0;
  return std::make_unique<Muon>(std::make_unique<HiddenMatrices>(config, matrices),
                                KEDGE_TRY(make_rest(config, rest)),
                                has_own_rate ? config.rest_lr / config.lr : 1);
}

const Optimizers::Add kAddMuon({
    .name = "muon",
    .summary = "orthogonalized Nesterov momentum for hidden matrices and convolutions; AdamW or "
               "SGD for vectors, embeddings and the head",
    .make = make_muon,
    .reads = {"momentum", "keep_norm", "iterations", "rest", "rest_lr", "rest_momentum", "beta1",
              "beta2", "eps"},
});

}  // namespace
}  // namespace kedge::train
