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
    checkpoint::Part part{.name = group.name, .tensors = {}, .is_frozen = group.is_frozen};
    for (const auto& [name, tensor] : group.tensors) {
      Buffer& buffer = buffer_like(tensor, used++);
      if (!group.is_frozen || !buffer.is_filled) {
        buffer.tensor.copy_(tensor, tensor.is_cuda());
        buffer.is_filled = true;
      }
      part.tensors.push_back(nn::to_view(name, buffer.tensor));
    }
    parts.push_back(std::move(part));
  }
  buffers_.resize(used);
  device::synchronize(device_);
  return parts;
}

Staging::Buffer& Staging::buffer_like(const at::Tensor& tensor, std::size_t index) {
  if (index >= buffers_.size()) {
    buffers_.resize(index + 1);
  }
  Buffer& buffer = buffers_[index];
  if (!buffer.tensor.defined() || buffer.tensor.scalar_type() != tensor.scalar_type() ||
      buffer.tensor.sizes() != tensor.sizes()) {
    const auto options = at::TensorOptions(tensor.scalar_type()).pinned_memory(tensor.is_cuda());
    buffer = {.tensor = at::empty(tensor.sizes(), options)};
  }
  return buffer;
}

}  // namespace kedge::train
