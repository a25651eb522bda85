// What happens to gradients between the backward pass and the optimizer: their norm, clipping,
// clearing, and the search for the first that is not a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "nn/model.h"

namespace kedge::train {

// The gradients that exist, under their parameters' names.
nn::NamedTensors gradients_of(const nn::NamedTensors& parameters);

// The 2-norm of all gradients as one vector: a zero-dimensional float on their device, so that
// nobody waits for it. Zero, on the host, when there are none.
at::Tensor gradient_norm(const nn::NamedTensors& parameters);

// Scales all gradients so that their norm, which is `norm`, is at most max_norm, as
// torch.nn.utils.clip_grad_norm_ does. Never waits for the device.
void clip_norm(const nn::NamedTensors& parameters, const at::Tensor& norm, double max_norm);

enum class Clearing : std::uint8_t {
  Drop,  // the next backward makes them anew: no addition, less memory between steps
  Fill,  // with zeros, where something else holds on to the gradients' memory
};

void zero_gradients(const nn::NamedTensors& parameters, Clearing clearing = Clearing::Drop);

// The name of the first tensor with a NaN or an infinity. Waits for the device: for use when
// something is already known to be wrong.
std::optional<std::string> find_first_nonfinite(const nn::NamedTensors& tensors);

}  // namespace kedge::train
