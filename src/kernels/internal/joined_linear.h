// Several linear layers on one input as one product of bfloat16 matrices, with what follows from
// being side by side: low-rank adapters that add to their columns, rotary positions that turn some
// of them, and gradients that are one matrix again.
#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"
#include "kernels/internal/few_rows.h"
#include "kernels/internal/nf4.h"

namespace kedge::kernels {

struct JoinedLinearKernels {
  Nf4Kernels nf4;
  std::unique_ptr<device::Kernel> rotate;
  std::unique_ptr<device::Kernel> join_rotated;
  FewRowsKernels few_rows;
};

Result<JoinedLinearKernels> make_joined_linear_kernels(device::Plugin& plugin);

bool can_join_linears(const device::JoinedLinearStep& step);

// Differentiable. can_join_linears() must have said so.
std::vector<at::Tensor> joined_linear(JoinedLinearKernels& kernels,
                                      const device::JoinedLinearStep& step);

}  // namespace kedge::kernels
