// The mean cross-entropy of rows of scores without a copy of them in float32, and the counts of
// right answers.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/plugin.h"
#include "nn/fused.h"

namespace kedge::kernels {

struct CrossEntropyKernels {
  std::unique_ptr<device::Kernel> rows;
  std::unique_ptr<device::Kernel> mean;
  std::unique_ptr<device::Kernel> gradient;
  std::unique_ptr<device::Kernel> hits;
};

Result<CrossEntropyKernels> make_cross_entropy_kernels(device::Plugin& plugin);

bool can_cross_entropy(const nn::CrossEntropyStep& step);

// Differentiable. can_cross_entropy() must have said so.
at::Tensor cross_entropy(CrossEntropyKernels& kernels, const nn::CrossEntropyStep& step);

struct Scored {
  at::Tensor scores;  // bfloat16 [N, classes]
  at::Tensor labels;  // int64 [N]
  at::Tensor loss;    // float, the batch's mean
};

// sums [4] += loss * N, N, rows whose label has the highest score, rows where it is among the five
// highest (of more than five).
void count_hits(CrossEntropyKernels& kernels, const Scored& scored, at::Tensor& sums);

}  // namespace kedge::kernels
