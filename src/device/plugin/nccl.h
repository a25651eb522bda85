// NCCL by its C interface, opened by name: libtorch's CUDA library has brought it already. nccl.h
// is in a wheel of 200 MB; the types and functions used here are the same in NCCL 2.10 and newer.
// Why not c10d's ProcessGroupNCCL: docs/dependencies.md.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "device/device_group.h"

namespace kedge::device {

// "2.28.9"; the error says why it cannot be used.
Result<std::string> nccl_version();

Result<std::string> make_nccl_id();

// On the current device. Waits for the other ranks.
Result<std::unique_ptr<DeviceGroup>> join_nccl(const DeviceGroupPlace& place);

}  // namespace kedge::device
