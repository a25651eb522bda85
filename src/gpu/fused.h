// Gives the models kernels of our own for the steps that have them (nn/fused.h).
#pragma once

#include "core/result.h"
#include "gpu/cross_entropy.h"
#include "gpu/plugin.h"

namespace kedge::gpu {

// Compiles the kernels and makes them the ones that models ask, for the rest of the process. Call
// once the device is chosen.
Result<void> install_fused_ops(Plugin& plugin);

// Null before install_fused_ops().
CrossEntropyKernels* score_kernels();

}  // namespace kedge::gpu
