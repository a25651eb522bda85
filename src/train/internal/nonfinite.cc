#include "train/internal/nonfinite.h"

#include <string>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "train/internal/gradients.h"
#include "train/saved_model.h"

namespace kedge::train {
namespace {

// Where the numbers are finite but too large: the parameter that grew most.
std::string describe_largest(const nn::NamedTensors& parameters) {
  std::string largest;
  double size = -1;
  for (const auto& [name, tensor] : parameters) {
    const double here = tensor.numel() > 0 ? tensor.abs().max().item<double>() : 0;
    if (here > size) {
      size = here;
      largest = name;
    }
  }
  return fmt::format("inputs and parameters are finite, the largest is {:.2g} in {}", size,
                     largest);
}

// Without weights whose values are kept elsewhere, in few bits.
nn::NamedTensors with_values(nn::NamedTensors tensors) {
  std::erase_if(tensors, [](const auto& named) { return named.second.is_meta(); });
  return tensors;
}

}  // namespace

Error describe_nonfinite(nn::Model& model, const Inputs& inputs, std::string_view when) {
  const nn::NamedTensors parameters = with_values(model.parameters());
  std::string culprit = "the loss itself; " + describe_largest(parameters);
  if (inputs.x.defined() && inputs.x.is_floating_point() &&
      !inputs.x.isfinite().all().item<bool>()) {
    culprit = "the input batch";
  } else if (const auto name = find_first_nonfinite(with_values(parameters_and_buffers(model)))) {
    culprit = *name;
  } else if (inputs.x.defined()) {
    const torch::NoGradGuard no_grad;
    if (!model.forward(inputs.input()).isfinite().all().item<bool>()) {
      culprit = "the model's scores; " + describe_largest(parameters);
    }
  }
  return {
      ErrorKind::Corrupt, fmt::format("{} is not finite; first bad tensor: {}", when, culprit),
      "lower optimizer.lr, add schedule.warmup or train.clip_norm, or try train.precision=fp32; "
      "train.stop_on_nan=false trains on regardless"};
}

}  // namespace kedge::train
