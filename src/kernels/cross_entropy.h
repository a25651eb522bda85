// The mean cross-entropy of rows of scores without a copy of them in float32, and the counts of
// right answers.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct CrossEntropyKernels {
  std::unique_ptr<device::Kernel> rows;
  std::unique_ptr<device::Kernel> rows_to_gradients;
  std::unique_ptr<device::Kernel> mean;
  std::unique_ptr<device::Kernel> gradient;
  std::unique_ptr<device::Kernel> hits;
};

Result<CrossEntropyKernels> make_cross_entropy_kernels(device::Plugin& plugin);

bool can_cross_entropy(const device::CrossEntropyStep& step);

// Differentiable. can_cross_entropy() must have said so.
at::Tensor cross_entropy(CrossEntropyKernels& kernels, const device::CrossEntropyStep& step);

// As FusedOps::judge_rows. can_cross_entropy() must have said so.
at::Tensor judge_rows(CrossEntropyKernels& kernels, const device::CrossEntropyStep& step,
                      const at::Tensor& inverse_count, bool wants_gradient);

// For bfloat16 scores and a float loss.
bool can_count_hits(const device::ScoredStep& step);

// As FusedOps::count_hits. can_count_hits() must have said so.
void count_hits(CrossEntropyKernels& kernels, const device::ScoredStep& step, at::Tensor& sums);

}  // namespace kedge::kernels
