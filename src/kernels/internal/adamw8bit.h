// AdamW on moments in 8 bits (device::Adamw8bitStep).
#pragma once

#include <memory>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct Adamw8bitKernels {
  std::unique_ptr<device::Kernel> on_floats;
  std::unique_ptr<device::Kernel> on_bfloat16;
};

Result<Adamw8bitKernels> make_adamw8bit_kernels(device::Plugin& plugin);

bool can_adamw8bit(const device::Adamw8bitStep& step);

// can_adamw8bit() must have said so.
void adamw8bit(const Adamw8bitKernels& kernels, const device::Adamw8bitStep& step);

}  // namespace kedge::kernels
