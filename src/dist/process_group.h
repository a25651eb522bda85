// ProcessGroup is how the ranks of one training talk. The loop always has one; alone, its size
// is 1 and every call returns at once. It knows tensors, never models or data.
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

namespace kedge::dist {

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;

  // Sums `tensor` over all ranks, in place.
  virtual void all_reduce_sum(at::Tensor& tensor) = 0;

  // Every rank's `tensor` becomes rank 0's.
  virtual void broadcast(at::Tensor& tensor) = 0;

  virtual void barrier() = 0;
};

// The group of a process that trains alone.
std::unique_ptr<ProcessGroup> make_single_process_group();

}  // namespace kedge::dist
