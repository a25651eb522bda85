// ProcessGroupNCCL of the libtorch that this was compiled for.
#pragma once

#include "core/result.h"
#include "device/nccl.h"

namespace kedge::device {

// One for the process; the error says why it cannot be used.
Result<Nccl*> find_nccl();

}  // namespace kedge::device
