// Matrices in 4 bits as bfloat16 (device::Nf4Matrix).
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct Nf4Kernels {
  std::unique_ptr<device::Kernel> unpack;
};

Result<Nf4Kernels> make_nf4_kernels(device::Plugin& plugin);

bool can_unpack(const device::Nf4Matrix& matrix);

// One below the other; can_unpack() must have said so of each, and they are equally wide.
at::Tensor unpack(const Nf4Kernels& kernels, const std::vector<device::Nf4Matrix>& matrices);

}  // namespace kedge::kernels
