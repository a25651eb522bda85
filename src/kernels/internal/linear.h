// Linear layers under bfloat16 autocast whose backward pass sums the bias's gradient while it reads
// or makes the result's, and leaves the weight's in float32, without a rounding to bfloat16
// between.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct LinearKernels {
  at::Tensor counters;  // of finished blocks; zero between launches
  std::unique_ptr<device::Kernel> sums;
  std::unique_ptr<device::Kernel> gelu;
  std::unique_ptr<device::Kernel> gelu_sums;    // through GELU's slope on the way
  std::unique_ptr<device::Kernel> joined_sums;  // of three matrices that become one
};

Result<LinearKernels> make_linear_kernels(device::Plugin& plugin);

bool can_linear(const device::LinearStep& step);

// Differentiable. can_linear() must have said so.
at::Tensor linear(LinearKernels& kernels, const device::LinearStep& step);

bool can_linear_thirds(const device::LinearStep& step);

// Differentiable. can_linear_thirds() must have said so.
std::vector<at::Tensor> linear_thirds(LinearKernels& kernels, const device::LinearStep& step);

}  // namespace kedge::kernels
