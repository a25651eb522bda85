#include "train/internal/staging.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "device/device.h"
#include "nn/tensor_view.h"

namespace kedge::train {

void Staging::reserve(const std::vector<StateTensors>& groups) {
  std::size_t used = 0;
  for (const StateTensors& group : groups) {
    for (const auto& [name, tensor] : group.tensors) {
      buffer_like(tensor, used++);
    }
  }
}

std::vector<checkpoint::Part> Staging::copy(const std::vector<StateTensors>& groups) {
  const torch::NoGradGuard no_grad;
  std::vector<checkpoint::Part> parts;
  std::size_t used = 0;
  for (const StateTensors& group : groups) {
    checkpoint::Part part{.name = group.name, .tensors = {}};
    for (const auto& [name, tensor] : group.tensors) {
      at::Tensor& buffer = buffer_like(tensor, used++);
      buffer.copy_(tensor, tensor.is_cuda());
      part.tensors.push_back(nn::to_view(name, buffer));
    }
    parts.push_back(std::move(part));
  }
  buffers_.resize(used);
  device::synchronize(device_);
  return parts;
}

at::Tensor& Staging::buffer_like(const at::Tensor& tensor, std::size_t index) {
  if (index >= buffers_.size()) {
    buffers_.resize(index + 1);
  }
  at::Tensor& buffer = buffers_[index];
  if (!buffer.defined() || buffer.scalar_type() != tensor.scalar_type() ||
      buffer.sizes() != tensor.sizes()) {
    buffer = at::empty(tensor.sizes(),
                       at::TensorOptions(tensor.scalar_type()).pinned_memory(tensor.is_cuda()));
  }
  return buffer;
}

}  // namespace kedge::train
