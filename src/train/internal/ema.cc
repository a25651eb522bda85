#include "train/internal/ema.h"

#include <algorithm>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {
namespace {

at::ScalarType average_type(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf ? at::kFloat : type;
}

}  // namespace

double ema_decay(const config::EmaConfig& config, std::int64_t step) {
  if (!config.warmup) {
    return config.decay;
  }
  const auto count = static_cast<double>(step);
  return std::min(config.decay, (1 + count) / (10 + count));
}

Ema::Ema(const nn::NamedTensors& parameters, const nn::NamedTensors& buffers) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) {
      all_.emplace_back(name, parameter);
      continue;
    }
    at::Tensor average = parameter.detach().to(average_type(parameter.scalar_type()),
                                               /*non_blocking=*/false, /*copy=*/true);
    weights_.push_back(parameter);
    averages_.push_back(average);
    all_.emplace_back(name, std::move(average));
  }
  all_.insert(all_.end(), buffers.begin(), buffers.end());
  if (!averages_.empty()) {
    update_weight_ = torch::zeros({}, averages_.front().options());
  }
}

void Ema::set_decay(double decay) {
  if (update_weight_.defined()) {
    update_weight_.fill_(1 - decay);
  }
}

void Ema::update() {
  KEDGE_CHECK(saved_.empty(), "the weights are in the model, not the average");
  const torch::NoGradGuard no_grad;
  if (weights_.empty()) {
    return;
  }
  std::vector<at::Tensor> weights;
  weights.reserve(weights_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    // Casts only reduced types; others are taken as they are.
    weights.push_back(weights_[i].to(averages_[i].scalar_type()));
  }
  const std::vector<at::Tensor> moves = at::_foreach_sub(weights, averages_);
  at::_foreach_mul_(moves, update_weight_);
  at::_foreach_add_(averages_, moves);
}

void Ema::apply() {
  KEDGE_CHECK(saved_.empty(), "the average is applied once");
  const torch::NoGradGuard no_grad;
  for (const at::Tensor& weight : weights_) {
    saved_.push_back(weight.detach().clone());
  }
  if (!weights_.empty()) {
    at::_foreach_copy_(weights_, averages_);
  }
}

void Ema::restore() {
  const torch::NoGradGuard no_grad;
  if (!saved_.empty()) {
    at::_foreach_copy_(weights_, saved_);
    saved_.clear();
  }
}

nn::NamedTensors Ema::state() const {
  return all_;
}

}  // namespace kedge::train
