// Collectives among GPUs over NCCL: c10d's own process group, which only the plugin can make,
// because libtorch's CUDA library holds it. With it come a watchdog (a collective that takes longer
// than its timeout ends the process) and a flight recorder, as in PyTorch and with
// its environment variables (TORCH_NCCL_..., TORCH_FR_...).
#pragma once

#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace kedge::device {

class Nccl {
 public:
  virtual ~Nccl() = default;

  // "2.28.9"
  virtual std::string version() const = 0;

  // The group of all ranks that join with the same store, each on its thread's current device;
  // waits for them. A call returns at once: its Work's wait() makes
  // the current stream wait, not the host, and both can be captured. Who drops a group calls its
  // shutdown(), which waits for the other ranks, or abort(), which does not.
  // Throws c10::Error.
  virtual c10::intrusive_ptr<c10d::Backend> join(const c10::intrusive_ptr<c10d::Store>& store,
                                                 int rank, int size,
                                                 std::chrono::milliseconds timeout) = 0;
};

}  // namespace kedge::device
