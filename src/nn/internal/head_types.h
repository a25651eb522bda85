// In which types the scores of a model's last layer are computed.
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

namespace kedge::nn {

// Of the matrix product.
inline at::ScalarType score_type(const at::Tensor& features) {
  const at::DeviceType device = features.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : features.scalar_type();
}

// Of sums over what it gives.
inline at::ScalarType wide_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace kedge::nn
