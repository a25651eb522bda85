// Between libtorch's tensors and the checkpoint room's bytes.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "checkpoint/tensor_file.h"

namespace kedge::nn {

at::ScalarType scalar_type(checkpoint::DType type);

// The type as files spell it. Types that files cannot hold (complex, quantised) are a bug here.
checkpoint::DType file_type(at::ScalarType type);

// A tensor over the bytes themselves, to be read while they are there.
at::Tensor over_bytes(const checkpoint::TensorView& view, std::span<const std::uint8_t> bytes);

// A copy of the bytes, on the CPU; the view may go.
at::Tensor to_tensor(const checkpoint::TensorView& view);

// The tensor's bytes under a name. It must be on the CPU and contiguous, and outlive the view.
checkpoint::TensorView to_view(std::string name, const at::Tensor& tensor);

}  // namespace kedge::nn
