// The GPUs of several ranks, one each, that talk over NCCL. What is asked for is done
// on a stream of its own beside the current one, never makes the host wait, and can be captured.
#pragma once

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace kedge::device {

class DeviceWork {
 public:
  virtual ~DeviceWork() = default;

  // What the current stream is asked for from now on comes after it.
  virtual void wait() = 0;
};

// Tensors are dense and lie in memory in the same order on all ranks. Every rank makes the same
// calls in the same order; c10::Error where a peer is known to be gone.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;

  // Sums, in place. The tensor belongs to the work until wait() has returned.
  virtual std::unique_ptr<DeviceWork> all_reduce(const at::Tensor& tensor) = 0;
  virtual std::unique_ptr<DeviceWork> broadcast(const at::Tensor& tensor, int root) = 0;

  // `all` has a row for each rank.
  virtual std::unique_ptr<DeviceWork> all_gather(const at::Tensor& tensor,
                                                 const at::Tensor& all) = 0;
};

struct DeviceGroupPlace {
  std::string id;  // Plugin::make_group_id() of one rank, on all
  int rank = 0;
  int size = 1;
};

}  // namespace kedge::device
