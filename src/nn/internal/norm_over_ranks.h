// Batch normalisation by the statistics of all ranks' batches together.
#pragma once

#include <ATen/core/Tensor.h>

#include "device/context.h"

namespace kedge::nn {

struct NormedOverRanks {
  at::Tensor y;
  at::Tensor mean;      // [C], of all ranks' values
  at::Tensor variance;  // [C], biased
  at::Tensor count;     // [1], values a channel
};

// x is [N, C, H, W]. Differentiable by x, weight and bias, whose own gradients stay this rank's.
// `sum` must outlive the backward pass.
NormedOverRanks norm_over_ranks(const device::SumOverRanks& sum, const at::Tensor& x,
                                const at::Tensor& weight, const at::Tensor& bias, double eps);

}  // namespace kedge::nn
