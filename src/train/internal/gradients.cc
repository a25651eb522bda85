#include "train/internal/gradients.h"

#include <map>
#include <vector>

#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {
namespace {

using Lists = std::map<at::ScalarType, std::vector<at::Tensor>>;

// By type, because a foreach kernel takes tensors of one type only.
Lists gradient_lists(const nn::NamedTensors& parameters) {
  Lists lists;
  for (const auto& [name, parameter] : parameters) {
    if (const at::Tensor& gradient = parameter.grad(); gradient.defined()) {
      lists[gradient.scalar_type()].push_back(gradient);
    }
  }
  return lists;
}

at::Tensor total_norm(const Lists& lists) {
  std::vector<at::Tensor> norms;
  for (const auto& [type, gradients] : lists) {
    for (const at::Tensor& norm : at::_foreach_norm(gradients, 2, at::kFloat)) {
      norms.push_back(norm);
    }
  }
  return norms.empty() ? at::zeros({}) : at::linalg_vector_norm(at::stack(norms));
}

}  // namespace

nn::NamedTensors gradients_of(const nn::NamedTensors& parameters) {
  nn::NamedTensors gradients;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) {
      gradients.emplace_back(name, parameter.grad());
    }
  }
  return gradients;
}

at::Tensor gradient_norm(const nn::NamedTensors& parameters) {
  const torch::NoGradGuard no_grad;
  return total_norm(gradient_lists(parameters));
}

void clip_norm(const nn::NamedTensors& parameters, const at::Tensor& norm, double max_norm) {
  const torch::NoGradGuard no_grad;
  // Multiplying by 1 costs less than asking the device whether it is needed.
  const at::Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  for (const auto& [type, gradients] : gradient_lists(parameters)) {
    at::_foreach_mul_(gradients, factor.to(type));
  }
}

void zero_gradients(const nn::NamedTensors& parameters, Clearing clearing) {
  if (clearing == Clearing::Drop) {
    for (const auto& [name, parameter] : parameters) {
      parameter.mutable_grad().reset();
    }
    return;
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [type, gradients] : gradient_lists(parameters)) {
    at::_foreach_zero_(gradients);
  }
}

std::optional<std::string> find_first_nonfinite(const nn::NamedTensors& tensors) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point() && !tensor.isfinite().all().item<bool>()) {
      return name;
    }
  }
  return std::nullopt;
}

}  // namespace kedge::train
