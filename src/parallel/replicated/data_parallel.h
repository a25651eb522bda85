// Gradients summed over all ranks while the backward pass still runs: parameters share buckets, and
// a bucket travels as soon as the last of its gradients is there. libtorch has no such thing for
// C++ (torch.nn.parallel.DistributedDataParallel is Python's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/process_group.h"
#include "nn/model.h"

namespace kedge::parallel {

struct DataParallelOptions {
  std::uint64_t bucket_bytes = 25'000'000;
  // What comes first travels first: a small bucket starts the all-reduce early.
  std::uint64_t first_bucket_bytes = 1'000'000;
  bool is_bf16 = false;  // gradients travel in bfloat16
};

class DataParallel {
 public:
  // Watches the parameters' gradients while it lives. Every rank has the same parameters in the
  // same order. `group` must outlive it.
  DataParallel(dist::ProcessGroup& group, nn::NamedTensors parameters,
               const DataParallelOptions& options);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  // Before the backward pass that completes the gradients of a step; without it, gradients only
  // accumulate here.
  void start();

  // After it, on every rank, also on one that had no sample: each gradient becomes the sum over the
  // ranks. A parameter that no rank used has none, as if there were one process.
  void finish();

  // Forgets a backward pass that was not finished.
  void reset();

  std::size_t bucket_count() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<std::size_t> parameters;
    std::vector<std::int64_t> offsets;  // of their gradients in `flat`
    at::Tensor flat;                    // gradients, then one number a parameter: who has one
    at::Tensor uses;                    // that tail of `flat`
    std::size_t filled = 0;
    std::unique_ptr<dist::Work> work;
  };

  class Hook;

  void make_buckets(const DataParallelOptions& options);
  void take(std::size_t parameter);
  void fill(Bucket& bucket);
  void launch_filled();
  void put_back(Bucket& bucket);
  at::Tensor place_of(const Bucket& bucket, std::size_t slot) const;

  dist::ProcessGroup& group_;
  nn::NamedTensors parameters_;
  bool is_bf16_;
  std::vector<Bucket> buckets_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of a parameter: bucket and slot
  std::vector<bool> is_taken_;
  std::size_t next_ = 0;  // the bucket that travels next: all ranks send them in one order
  bool is_started_ = false;
};

}  // namespace kedge::parallel
