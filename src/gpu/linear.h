// Linear layers under bfloat16 autocast whose backward pass sums the bias's gradient in one read
// and leaves the weight's in float32, without a rounding to bfloat16 between.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "gpu/plugin.h"
#include "nn/fused.h"

namespace kedge::gpu {

struct LinearKernels {
  at::Tensor counters;  // of finished blocks; zero between launches
  std::unique_ptr<Kernel> column_sums;
};

Result<LinearKernels> make_linear_kernels(Plugin& plugin);

bool can_linear(const nn::LinearStep& step);

// Differentiable. can_linear() must have said so.
at::Tensor linear(LinearKernels& kernels, const nn::LinearStep& step);

}  // namespace kedge::gpu
