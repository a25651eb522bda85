// silu(gate) * up of bfloat16 values, which may be columns of one wider matrix; backward both
// gradients lie side by side in one, as the product that made them wants them.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct GatedKernels {
  std::unique_ptr<device::Kernel> forward;
  std::unique_ptr<device::Kernel> backward;
};

Result<GatedKernels> make_gated_kernels(device::Plugin& plugin);

bool can_gate(const at::Tensor& gate, const at::Tensor& up);

// Differentiable. can_gate() must have said so.
at::Tensor gated(GatedKernels& kernels, const at::Tensor& gate, const at::Tensor& up);

}  // namespace kedge::kernels
