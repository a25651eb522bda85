// The maximum of 2 x 2 fields, or of whole images, of bfloat16 images in channels-last memory.
// libtorch's own writes the places of the maxima as 64-bit numbers, four times the size of the
// result, and reads them back.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct MaxPoolKernels {
  std::unique_ptr<device::Kernel> forward;
  std::unique_ptr<device::Kernel> backward;
  std::unique_ptr<device::Kernel> image_forward;
  std::unique_ptr<device::Kernel> image_backward;
};

Result<MaxPoolKernels> make_max_pool_kernels(device::Plugin& plugin);

bool can_max_pool(const at::Tensor& x);

// Differentiable. can_max_pool() must have said so.
at::Tensor max_pool(MaxPoolKernels& kernels, const at::Tensor& x);

// [N, C], as x.amax({2, 3}), but the first of equal pixels gets the gradient. Differentiable.
// can_max_pool() must have said so.
at::Tensor max_of_image(MaxPoolKernels& kernels, const at::Tensor& x);

}  // namespace kedge::kernels
