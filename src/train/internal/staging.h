// Staging holds copies of tensors on the host while a checkpoint is written from them: the copying
// is all that training waits for. The memory is kept from save to save, page-locked for a GPU.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/placement.h"
#include "nn/model.h"

namespace kedge::train {

// The tensors of one part of a checkpoint.
struct StateTensors {
  std::string name;
  nn::NamedTensors tensors;
  checkpoint::Spread spread = checkpoint::Spread::Replicated;
  bool is_frozen = false;  // never changes
};

class Staging {
 public:
  explicit Staging(at::Device device) : device_(device) {}

  // Allocates the memory ahead: page-locking a gigabyte takes half a second.
  void reserve(const std::vector<StateTensors>& groups);

  // Copies of all tensors as they are now; of frozen ones those of the first call. The views are
  // valid until the next call.
  std::vector<checkpoint::Part> copy(const std::vector<StateTensors>& groups);

 private:
  struct Buffer {
    at::Tensor tensor;
    bool is_filled = false;
  };

  Buffer& buffer_like(const at::Tensor& tensor, std::size_t index);

  at::Device device_;
  std::vector<Buffer> buffers_;
};

}  // namespace kedge::train
