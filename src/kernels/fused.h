// Gives the models kernels of our own for the steps that have them (nn/fused.h).
#pragma once

#include "core/result.h"
#include "device/plugin.h"
#include "kernels/cross_entropy.h"

namespace kedge::kernels {

// Compiles the kernels and makes them the ones that models ask, for the rest of the process. Call
// once the device is chosen.
Result<void> install_fused_ops(device::Plugin& plugin);

// Null before install_fused_ops().
CrossEntropyKernels* score_kernels();

}  // namespace kedge::kernels
