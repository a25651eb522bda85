// Kernels of our own for the steps of networks that have them (device/fused_ops.h).
#pragma once

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

// Compiles them for the current device, once a process: the same object is returned from then on
// and lives to the end. It is also an nn::WhitenOps.
Result<device::FusedOps*> fused_ops(device::Plugin& plugin);

}  // namespace kedge::kernels
