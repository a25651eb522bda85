// Tensors seen as rows: all but the last dimension are one, as in the columns of a wider matrix.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace kedge::kernels {

inline constexpr std::int64_t kEight = 8;  // values that a thread moves at once (cuda_source.h)

// From row to row.
inline std::int64_t row_stride(const at::Tensor& tensor) {
  return tensor.dim() > 1 ? tensor.stride(-2) : tensor.numel();
}

// Whether rows are dense and lie evenly apart.
inline bool has_rows(const at::Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.stride(-1) != 1) {
    return false;
  }
  for (std::int64_t i = tensor.dim() - 3; i >= 0; --i) {
    if (tensor.size(i) != 1 && tensor.stride(i) != tensor.stride(i + 1) * tensor.size(i + 1)) {
      return false;
    }
  }
  return true;
}

// [rows, columns] over the same memory; has_rows() must hold.
inline at::Tensor rows_of(const at::Tensor& tensor) {
  const std::int64_t columns = tensor.size(-1);
  return tensor.as_strided({tensor.numel() / columns, columns}, {row_stride(tensor), 1});
}

}  // namespace kedge::kernels
