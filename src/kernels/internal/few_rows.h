// Products of a large matrix and a few rows, which is what a model computes for each new token of a
// text. They take as long as reading the matrix does, so each of its values is read once.
#pragma once

#include <array>
#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct FewRowsKernels {
  std::array<std::unique_ptr<device::Kernel>, 4> of_rows;  // 1, 2, 4 and 8 at most
};

Result<FewRowsKernels> make_few_rows_kernels(device::Plugin& plugin);

// Both bfloat16, [rows, in] with at most 8 rows and [out, in].
bool can_multiply_few_rows(const at::Tensor& x, const at::Tensor& weight);

// x weight^T + bias [out], where that is defined. Sums are in float32, in a fixed order.
at::Tensor multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias);

}  // namespace kedge::kernels
