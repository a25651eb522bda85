// ProcessGroup is how the ranks of one training talk. The loop always has one; alone, its size
// is 1 and every call returns at once. It knows tensors, never models or data.
//
// Every rank of a group makes the same calls in the same order, with tensors of the same type, on
// one thread at a time. Each call has two forms: start_x() returns at once, and what it was given
// belongs to the Work until wait() has returned; x() starts and waits. Another rank that is gone or
// does not take part in time is thrown as PeerError, by either or by wait(); tensors that do not
// fit are c10::Error, thrown before anything travels.
//
// Host tensors go over Gloo. Those of GPUs go over NCCL where it was agreed on, and through the
// host otherwise; over NCCL wait() makes the current stream wait, not the host, and the first call
// of a group waits until all its ranks have made one.
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

// How tensors are cut for an all-to-all: how many rows come from each rank and go to each.
struct Pieces {
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> input;
};

enum class Reduce : std::uint8_t { Sum, Max };

// Another rank is gone, or did not take part in time.
class PeerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A call under way. Destroying it without wait() leaves open whether it was done.
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

  // Whether collectives of tensors on the device can be part of a captured step.
  virtual bool can_capture() const { return false; }

  // `tensor` becomes the sum, or the largest, of all ranks', element by element. Dense, in one
  // memory order on all ranks. `what` is for reports.
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor,
                                         ranks::Collective what = ranks::Collective::AllReduce,
                                         Reduce reduce = Reduce::Sum);

  void all_reduce_sum(const at::Tensor& tensor) { finish(start_all_reduce(tensor)); }

  void all_reduce_max(const at::Tensor& tensor) {
    finish(start_all_reduce(tensor, ranks::Collective::AllReduce, Reduce::Max));
  }

  // Every rank's `tensor` becomes that of `root`. Dense, in one memory order on all ranks.
  std::unique_ptr<Work> start_broadcast(const at::Tensor& tensor, std::int64_t root = 0);

  void broadcast(const at::Tensor& tensor, std::int64_t root = 0) {
    finish(start_broadcast(tensor, root));
  }

  // The calls below take contiguous tensors.

  // `output` becomes the reduction of this rank's piece: `input` is cut into size() equal ones, one
  // behind the other. `output` may be that piece of `input`.
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                             Reduce reduce = Reduce::Sum);

  void reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                      Reduce reduce = Reduce::Sum) {
    finish(start_reduce_scatter(output, input, reduce));
  }

  // `output` becomes the `input` of all ranks, one behind the other. `input` may be this rank's
  // piece of `output`.
  std::unique_ptr<Work> start_all_gather_into(const at::Tensor& output, const at::Tensor& input);

  void all_gather_into(const at::Tensor& output, const at::Tensor& input) {
    finish(start_all_gather_into(output, input));
  }

  // The same as a new tensor, [size, ...]. `tensor` need not be contiguous.
  at::Tensor all_gather(const at::Tensor& tensor);

  // `input` is cut into one piece for each rank; `output` becomes the pieces that all ranks have
  // for this one, in order of the ranks. The tensors share no memory. `rows` are the pieces'
  // lengths in dimension 0, which may be 0; an empty list means equal ones. What one rank sends to
  // another and what that one expects must be the same number.
  std::unique_ptr<Work> start_all_to_all(const at::Tensor& output, const at::Tensor& input,
                                         const Pieces& rows = {});

  void all_to_all(const at::Tensor& output, const at::Tensor& input, const Pieces& rows = {}) {
    finish(start_all_to_all(output, input, rows));
  }

  // From one rank to another, which receives into a tensor of the same size and type, in the order
  // of sending. Over NCCL two ranks that both send before they receive wait for ever: one of them
  // receives first, or both use all_to_all.
  std::unique_ptr<Work> start_send(const at::Tensor& tensor, std::int64_t to);
  std::unique_ptr<Work> start_receive(const at::Tensor& tensor, std::int64_t from);

  void send(const at::Tensor& tensor, std::int64_t to) { finish(start_send(tensor, to)); }

  void receive(const at::Tensor& tensor, std::int64_t from) { finish(start_receive(tensor, from)); }

  virtual void barrier() = 0;

  // A group of the same ranks, over connections of its own: its calls need no order with these.
  virtual std::unique_ptr<ProcessGroup> make_twin(const std::string& name) = 0;

  // A group of the ranks that give the same `color`, in their order here, over connections of its
  // own; alone where no other gives it. Every rank calls it. It may outlive this group.
  virtual std::unique_ptr<ProcessGroup> make_subgroup(std::int64_t color) = 0;

  virtual std::unique_ptr<Mailbox> open_mailbox() = 0;

 protected:
  // Waits; the board shows that this rank does.
  static void finish(std::unique_ptr<Work> work);

 private:
  // What a kind of group implements, for tensors that have been found to fit. `what` of a transfer
  // is Send or Receive; no list of `rows` is empty.
  virtual std::unique_ptr<Work> do_all_reduce(const at::Tensor& tensor, ranks::Collective what,
                                              Reduce reduce) = 0;
  virtual std::unique_ptr<Work> do_broadcast(const at::Tensor& tensor, int root) = 0;
  virtual std::unique_ptr<Work> do_reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                                  Reduce reduce) = 0;
  virtual std::unique_ptr<Work> do_all_gather(const at::Tensor& output,
                                              const at::Tensor& input) = 0;
  virtual std::unique_ptr<Work> do_all_to_all(const at::Tensor& output, const at::Tensor& input,
                                              const Pieces& rows) = 0;
  virtual std::unique_ptr<Work> do_transfer(const at::Tensor& tensor, int peer,
                                            ranks::Collective what) = 0;
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
