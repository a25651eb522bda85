// The GPUs of several ranks, one each, that talk over NCCL. What is asked for is done
// on a stream of its own beside the current one, never makes the host wait, and can be captured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kedge::device {

class DeviceWork {
 public:
  virtual ~DeviceWork() = default;

  // What the current stream is asked for from now on comes after it.
  virtual void wait() = 0;
};

// How tensors are cut for an all-to-all: the lengths of what comes from each rank and goes to each,
// one number a rank.
struct Pieces {
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> input;
};

enum class Reduce : std::uint8_t { Sum, Max };

// Tensors are dense and lie in memory in the same order on all ranks; they belong to the work until
// wait() has returned. Every rank makes the same calls in the same order; c10::Error where a peer
// is known to be gone.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;

  // In place.
  virtual std::unique_ptr<DeviceWork> all_reduce(const at::Tensor& tensor, Reduce reduce) = 0;
  virtual std::unique_ptr<DeviceWork> broadcast(const at::Tensor& tensor, int root) = 0;

  // `input` has a piece for each rank, all as long as `output`.
  virtual std::unique_ptr<DeviceWork> reduce_scatter(const at::Tensor& output,
                                                     const at::Tensor& input, Reduce reduce) = 0;

  // `output` has a piece of each rank, all as long as `input`.
  virtual std::unique_ptr<DeviceWork> all_gather(const at::Tensor& output,
                                                 const at::Tensor& input) = 0;

  // Piece r of `input`, so many elements, becomes this rank's piece of rank r's `output`.
  virtual std::unique_ptr<DeviceWork> all_to_all(const at::Tensor& output, const at::Tensor& input,
                                                 const Pieces& pieces) = 0;

  // To or from another rank, which makes the other call.
  virtual std::unique_ptr<DeviceWork> send(const at::Tensor& tensor, int to) = 0;
  virtual std::unique_ptr<DeviceWork> receive(const at::Tensor& tensor, int from) = 0;
};

struct DeviceGroupPlace {
  std::string id;  // Plugin::make_group_id() of one rank, on all
  int rank = 0;
  int size = 1;
};

}  // namespace kedge::device
