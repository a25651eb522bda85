#include "nn/tensor_view.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include <torch/types.h>

#include "core/result.h"

namespace kedge::nn {
namespace {

constexpr std::array<std::pair<checkpoint::DType, at::ScalarType>, 10> kTypes{{
    {checkpoint::DType::F64, at::kDouble},
    {checkpoint::DType::F32, at::kFloat},
    {checkpoint::DType::F16, at::kHalf},
    {checkpoint::DType::BF16, at::kBFloat16},
    {checkpoint::DType::I64, at::kLong},
    {checkpoint::DType::I32, at::kInt},
    {checkpoint::DType::I16, at::kShort},
    {checkpoint::DType::I8, at::kChar},
    {checkpoint::DType::U8, at::kByte},
    {checkpoint::DType::Bool, at::kBool},
}};

}  // namespace

at::ScalarType scalar_type(checkpoint::DType type) {
  for (const auto& [file, scalar] : kTypes) {
    if (file == type) {
      return scalar;
    }
  }
  KEDGE_CHECK(false, "every file type has a tensor type");
}

checkpoint::DType file_type(at::ScalarType type) {
  for (const auto& [file, scalar] : kTypes) {
    if (scalar == type) {
      return file;
    }
  }
  KEDGE_CHECK(false, "only types that files can hold are saved");
}

at::Tensor over_bytes(const checkpoint::TensorView& view, std::span<const std::uint8_t> bytes) {
  const auto options = at::TensorOptions(scalar_type(view.type));
  if (bytes.empty()) {
    return torch::empty(view.shape, options);
  }
  // Only ever read: libtorch has no tensors over constant memory.
  return torch::from_blob(const_cast<std::uint8_t*>(bytes.data()), view.shape, options);
}

at::Tensor to_tensor(const checkpoint::TensorView& view) {
  at::Tensor tensor = torch::empty(view.shape, scalar_type(view.type));
  KEDGE_CHECK(tensor.nbytes() == view.bytes.size(), "a view's bytes fit its shape");
  if (!view.bytes.empty()) {
    std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  }
  return tensor;
}

checkpoint::TensorView to_view(std::string name, const at::Tensor& tensor) {
  KEDGE_CHECK(tensor.is_cpu() && tensor.is_contiguous(), "views are of contiguous CPU tensors");
  return {.name = std::move(name),
          .type = file_type(tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .bytes = {static_cast<const std::uint8_t*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

}  // namespace kedge::nn
