#include "train/internal/loss_scaler.h"

#include <map>
#include <vector>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {

LossScaler::LossScaler(at::Device device, const LossScalerOptions& options)
    : options_(options),
      scale_(at::full({}, options.initial_scale,
                      at::TensorOptions().dtype(at::kFloat).device(device))),
      growth_tracker_(at::zeros({}, at::TensorOptions().dtype(at::kInt).device(device))),
      found_inf_(at::zeros_like(scale_)) {}

at::Tensor LossScaler::scale(const at::Tensor& loss) const {
  return loss * scale_;
}

void LossScaler::unscale(const nn::NamedTensors& parameters) {
  const torch::NoGradGuard no_grad;
  std::map<at::ScalarType, std::vector<at::Tensor>> lists;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) {
      lists[parameter.grad().scalar_type()].push_back(parameter.grad());
    }
  }
  found_inf_.zero_();
  // In float64, because a float32 reciprocal may be inexact on some devices.
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  for (const auto& [type, gradients] : lists) {
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, inverse);
  }
}

bool LossScaler::is_finite() const {
  return found_inf_.item<float>() == 0;
}

void LossScaler::update() {
  const torch::NoGradGuard no_grad;
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, options_.growth, options_.backoff,
                         options_.growth_interval);
}

nn::NamedTensors LossScaler::state() const {
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}};
}

}  // namespace kedge::train
