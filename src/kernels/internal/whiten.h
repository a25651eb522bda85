// The first layer of speednet: fields of 2 x 2 pixels times weights that are not trained, a bias
// that is, and GELU. Three input channels are too few for the tensor cores that libtorch would use,
// and its result would go to memory three times.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/plugin.h"
#include "nn/whitening.h"

namespace kedge::kernels {

struct WhitenKernels {
  std::unique_ptr<device::Kernel> forward;
  std::unique_ptr<device::Kernel> bias_gradient;
};

Result<WhitenKernels> make_whiten_kernels(device::Plugin& plugin);

// For bfloat16 images of three channels in channels-last memory.
bool can_whiten(const nn::WhitenStep& step);

// Differentiable by the bias. can_whiten() must have said so.
at::Tensor whiten(WhitenKernels& kernels, const nn::WhitenStep& step);

}  // namespace kedge::kernels
