// Products of a large matrix and a few rows, which is what a model computes for each new token of a
// text. They take as long as reading the matrix does, so each of its values is read once, as it is
// kept: few bits are unpacked on the way.
#pragma once

#include <array>
#include <memory>

#include <ATen/core/Tensor.h>

#include "core/result.h"
#include "device/fused_ops.h"
#include "device/plugin.h"

namespace kedge::kernels {

struct FewRowsKernels {
  using OfRows = std::array<std::unique_ptr<device::Kernel>, 4>;  // 1, 2, 4 and 8 at most
  OfRows bfloat16;
  OfRows int8;
  OfRows nf4;
};

Result<FewRowsKernels> make_few_rows_kernels(device::Plugin& plugin);

// x is bfloat16 [rows, in] with at most 8 rows; the matrix [out, in], bfloat16 if it is a tensor.
bool can_multiply_few_rows(const at::Tensor& x, const at::Tensor& matrix);
bool can_multiply_few_rows(const at::Tensor& x, const device::Int8Matrix& matrix);
bool can_multiply_few_rows(const at::Tensor& x, const device::Nf4Matrix& matrix);

// y [rows, out], which may be columns of a wider tensor, = x matrix^T + bias [out], where that is
// defined. Sums are in float32, in a fixed order.
void multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x, const at::Tensor& matrix,
                       const at::Tensor& bias, const at::Tensor& y);
void multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x,
                       const device::Int8Matrix& matrix, const at::Tensor& bias,
                       const at::Tensor& y);
void multiply_few_rows(FewRowsKernels& kernels, const at::Tensor& x,
                       const device::Nf4Matrix& matrix, const at::Tensor& bias,
                       const at::Tensor& y);

}  // namespace kedge::kernels
