// BatchNorm over the batch of all ranks. The room knows no ranks: whoever trains with many says how
// a tensor is summed over them.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

namespace kedge::nn {

// Sums the tensor over all ranks, in place; every rank calls it equally often.
using SumOverRanks = std::function<void(at::Tensor&)>;

// From now on, for all models of this process in training mode; an empty function: each rank for
// itself again.
void set_norm_sum(SumOverRanks sum);

const SumOverRanks& norm_sum();

}  // namespace kedge::nn
