// ProcessGroup is how the ranks of one training talk. The loop always has one; alone, its size
// is 1 and every call returns at once. It knows tensors, never models or data. Every rank makes the
// same calls in the same order; what goes wrong between them is thrown as PeerError.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "ranks/rank_board.h"

namespace kedge::dist {

// Another rank is gone, or did not take part in time.
class PeerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A collective under way. The tensor belongs to it until wait() has returned.
class Work {
 public:
  virtual ~Work() = default;
  virtual void wait() = 0;
};

// Notes between the ranks, for any one thread beside the training; never part of a collective.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual void put(const std::string& key, const std::string& text) = 0;

  // Waits until somebody has put it there; throws PeerError when nobody can any more.
  virtual std::string take(const std::string& key) = 0;

  // No take() waits longer than a few seconds from now on: the others may be gone. For any thread.
  virtual void close() {}
};

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;

  bool is_first() const { return rank() == 0; }

  // Nobody to talk to: what the ranks do together can be left out.
  virtual bool is_alone() const { return size() == 1; }

  // What tensors of GPUs travel over, for people: "gloo", "nccl".
  virtual std::string_view transport() const { return "none"; }

  // Whether sums of tensors on the device can be part of a captured step.
  virtual bool can_capture() const { return false; }

  // Sums `tensor` over all ranks, in place.
  virtual void all_reduce_sum(at::Tensor& tensor) = 0;

  // The same, beside what the caller does until it waits. `what` is for reports.
  virtual std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor,
                                                 ranks::Collective what) = 0;

  // Every rank's `tensor` becomes that of `root`.
  virtual void broadcast(at::Tensor& tensor, std::int64_t root = 0) = 0;

  // [size, ...]: the tensors of all ranks, which have one shape and type.
  virtual at::Tensor all_gather(const at::Tensor& tensor) = 0;

  virtual void barrier() = 0;

  // A group of the same ranks, over connections of its own: its calls need no order with these.
  virtual std::unique_ptr<ProcessGroup> make_twin(const std::string& name) = 0;

  virtual std::unique_ptr<Mailbox> open_mailbox() = 0;
};

// Rank 0's text, on every rank.
std::string broadcast_text(ProcessGroup& group, std::string_view text);

// Every rank's text, in order of the ranks.
std::vector<std::string> all_gather_texts(ProcessGroup& group, std::string_view text);

// Sums of plain numbers.
void all_reduce_sum(ProcessGroup& group, std::vector<double>& values);

// The group of a process that trains alone.
std::unique_ptr<ProcessGroup> make_single_process_group();

}  // namespace kedge::dist
