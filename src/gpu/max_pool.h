// The maximum of 2 x 2 fields of bfloat16 images in channels-last memory. libtorch's own writes the
// places of the maxima as 64-bit numbers, four times the size of the result, and reads them back.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "gpu/plugin.h"

namespace kedge::gpu {

struct MaxPoolKernels {
  std::unique_ptr<Kernel> forward;
  std::unique_ptr<Kernel> backward;
};

Result<MaxPoolKernels> make_max_pool_kernels(Plugin& plugin);

bool can_max_pool(const at::Tensor& x);

// Differentiable. can_max_pool() must have said so.
at::Tensor max_pool(MaxPoolKernels& kernels, const at::Tensor& x);

}  // namespace kedge::gpu
