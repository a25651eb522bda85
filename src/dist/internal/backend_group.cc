#include "dist/internal/backend_group.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/types.h>

#include "device/nccl.h"
#include "device/plugin.h"
#include "ranks/rank_board.h"

namespace kedge::dist {
namespace {

using Clock = std::chrono::steady_clock;

// Of whatever c10d or NCCL throws.
PeerError peer_error(std::string_view what, const std::exception& error) {
  return PeerError(
      fmt::format("another rank is gone or hangs: the {} failed: {}", what, first_line(error)));
}

// Transfers do not count: the report of a hang compares what all ranks have done equally often.
bool is_counted(ranks::Collective what) {
  return what != ranks::Collective::Send && what != ranks::Collective::Receive;
}

void show_begin(ranks::Collective what) {
  ranks::RankSlot& slot = ranks::own_slot();
  slot.collective.store(what, std::memory_order_relaxed);
  slot.collectives.fetch_add(is_counted(what) ? 1 : 0, std::memory_order_relaxed);
  slot.beat_ms.store(ranks::monotonic_ms(), std::memory_order_relaxed);
}

class BackendWork : public Work {
 public:
  BackendWork(c10::intrusive_ptr<c10d::Work> work, ranks::Collective what)
      : work_(std::move(work)), what_(what) {}

  void wait() override {
    try {
      work_->wait();
    } catch (const std::exception& error) {
      throw peer_error(ranks::name_of(what_), error);
    }
    ranks::own_slot().finished_collectives.fetch_add(is_counted(what_) ? 1 : 0,
                                                     std::memory_order_relaxed);
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  ranks::Collective what_;
};

// Gloo receives into the host's memory only.
class ReceiveThroughHost : public Work {
 public:
  ReceiveThroughHost(std::unique_ptr<Work> work, at::Tensor host, at::Tensor tensor)
      : work_(std::move(work)), host_(std::move(host)), tensor_(std::move(tensor)) {}

  void wait() override {
    work_->wait();
    tensor_.copy_(host_);
  }

 private:
  std::unique_ptr<Work> work_;
  at::Tensor host_;
  at::Tensor tensor_;
};

c10d::ReduceOp operation_of(Reduce reduce) {
  return reduce == Reduce::Max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
}

class StoreMailbox : public Mailbox {
 public:
  explicit StoreMailbox(StorePtr store) : store_(std::move(store)) {}

  void put(const std::string& key, const std::string& text) override {
    store_->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
  }

  // Not with the store's own wait, which could not be ended.
  std::string take(const std::string& key) override {
    for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, kLongestPause)) {
      if (store_->check({key})) {
        const std::vector<std::uint8_t> bytes = store_->get(key);
        return {bytes.begin(), bytes.end()};
      }
      if (Clock::now() > deadline_.load()) {
        throw PeerError(fmt::format("no other rank has left a note under {}", key));
      }
      std::this_thread::sleep_for(pause);
    }
  }

  void close() override { deadline_ = Clock::now() + kPatience; }

 private:
  static constexpr auto kLongestPause = std::chrono::milliseconds(20);
  static constexpr auto kPatience = std::chrono::seconds(2);

  StorePtr store_;
  std::atomic<Clock::time_point> deadline_ = Clock::time_point::max();
};

c10::intrusive_ptr<c10d::Backend> make_gloo(const Origin& origin, const std::string& name) {
  auto options = c10d::ProcessGroupGloo::Options::create(origin.timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(origin.address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>(name, origin.store), origin.rank, origin.size,
      options);
}

class BackendGroup : public ProcessGroup {
 public:
  BackendGroup(const Origin& origin, const std::string& name)
      : origin_(origin), name_(name), gloo_(make_gloo(origin_, name)) {}

  BackendGroup(const BackendGroup&) = delete;
  BackendGroup& operator=(const BackendGroup&) = delete;

  // Leaving waits for the other ranks, who may be gone when something was thrown.
  ~BackendGroup() override {
    if (nccl_ != nullptr) {
      std::uncaught_exceptions() > 0 ? nccl_->abort() : nccl_->shutdown();
    }
  }

  std::int64_t rank() const override { return origin_.rank; }

  std::int64_t size() const override { return origin_.size; }

  // Whoever asks for NCCL with one rank wants to see it work.
  bool is_alone() const override { return origin_.size == 1 && !origin_.has_nccl; }

  std::string_view transport() const override { return origin_.has_nccl ? "nccl" : "gloo"; }

  bool can_capture() const override { return origin_.has_nccl; }

  void barrier() override {
    finish(start(ranks::Collective::Barrier, at::Tensor(),
                 [](c10d::Backend& backend) { return backend.barrier(); }));
  }

  std::unique_ptr<ProcessGroup> make_twin(const std::string& name) override {
    return join(origin_, name);
  }

  std::unique_ptr<ProcessGroup> make_subgroup(std::int64_t color) override {
    const at::Tensor colors = all_gather(torch::tensor({color}, torch::kInt64));
    Origin origin = origin_;
    origin.size = 0;
    for (int rank = 0; rank < origin_.size; ++rank) {
      if (rank == origin_.rank) {
        origin.rank = origin.size;
      }
      origin.size += colors[rank].item<std::int64_t>() == color ? 1 : 0;
    }
    // All ranks have counted as many.
    const std::string prefix = fmt::format("{}/subgroup{}/{}", name_, subgroups_++, color);
    if (origin.size == 1) {
      return make_single_process_group();
    }
    origin.store = c10::make_intrusive<c10d::PrefixStore>(prefix, origin_.store);
    auto group = join(origin, "main");
    group->barrier();  // who drops it at once must not close connections that others still make
    return group;
  }

  std::unique_ptr<Mailbox> open_mailbox() override {
    return std::make_unique<StoreMailbox>(
        c10::make_intrusive<c10d::PrefixStore>("mail", origin_.store->clone()));
  }

 private:
  static std::unique_ptr<ProcessGroup> join(const Origin& origin, const std::string& name) {
    try {
      return std::make_unique<BackendGroup>(origin, name);
    } catch (const std::exception& error) {
      throw peer_error(fmt::format("meeting of the group '{}'", name), error);
    }
  }

  // `begin` hands the work to the backend for `tensor`.
  template <typename Begin>
  std::unique_ptr<Work> start(ranks::Collective what, const at::Tensor& tensor, Begin&& begin) {
    show_begin(what);
    try {
      return std::make_unique<BackendWork>(begin(backend_for(tensor)), what);
    } catch (const std::exception& error) {
      throw peer_error(ranks::name_of(what), error);
    }
  }

  std::unique_ptr<Work> do_all_reduce(const at::Tensor& tensor, ranks::Collective what,
                                      Reduce reduce) override {
    return start(what, tensor, [&](c10d::Backend& backend) {
      std::vector<at::Tensor> tensors = {flat(tensor)};
      c10d::AllreduceOptions options;
      options.reduceOp = operation_of(reduce);
      return backend.allreduce(tensors, options);
    });
  }

  std::unique_ptr<Work> do_broadcast(const at::Tensor& tensor, int root) override {
    return start(ranks::Collective::Broadcast, tensor, [&](c10d::Backend& backend) {
      std::vector<at::Tensor> tensors = {flat(tensor)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return backend.broadcast(tensors, options);
    });
  }

  // Over Gloo c10d all-reduces a copy, of which wait() takes the piece.
  std::unique_ptr<Work> do_reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                          Reduce reduce) override {
    return start(ranks::Collective::ReduceScatter, input, [&](c10d::Backend& backend) {
      at::Tensor piece = flat(output);
      at::Tensor whole = flat(input);
      c10d::ReduceScatterOptions options;
      options.reduceOp = operation_of(reduce);
      return backend._reduce_scatter_base(piece, whole, options);
    });
  }

  // Over Gloo c10d gathers into memory of its own and copies from there.
  std::unique_ptr<Work> do_all_gather(const at::Tensor& output, const at::Tensor& input) override {
    return start(ranks::Collective::AllGather, input, [&](c10d::Backend& backend) {
      at::Tensor whole = flat(output);
      at::Tensor piece = flat(input);
      return backend._allgather_base(whole, piece);
    });
  }

  std::unique_ptr<Work> do_all_to_all(const at::Tensor& output, const at::Tensor& input,
                                      const Pieces& rows) override {
    return start(ranks::Collective::AllToAll, input, [&](c10d::Backend& backend) {
      at::Tensor to = output;
      at::Tensor from = input;
      Pieces counts = rows;
      return backend.alltoall_base(to, from, counts.output, counts.input);
    });
  }

  std::unique_ptr<Work> do_transfer(const at::Tensor& tensor, int peer,
                                    ranks::Collective what) override {
    const bool is_send = what == ranks::Collective::Send;
    const bool is_through_host = tensor.is_cuda() && !origin_.has_nccl;
    std::vector<at::Tensor> tensors = {tensor};
    if (is_through_host) {
      tensors[0] = is_send ? tensor.cpu() : at::empty_like(tensor, at::kCPU);
    }
    auto work = start(what, tensor, [&](c10d::Backend& backend) {
      return is_send ? backend.send(tensors, peer, kTag) : backend.recv(tensors, peer, kTag);
    });
    if (is_through_host && !is_send) {
      return std::make_unique<ReceiveThroughHost>(std::move(work), tensors[0], tensor);
    }
    return work;
  }

  // Its memory in order: dense tensors of any strides can travel.
  static at::Tensor flat(const at::Tensor& tensor) {
    return tensor.detach().as_strided({tensor.numel()}, {1});
  }

  // The GPUs meet when the first of their tensors is to travel, because most twins have none.
  c10d::Backend& backend_for(const at::Tensor& tensor) {
    if (!origin_.has_nccl || !tensor.is_cuda()) {
      return *gloo_;
    }
    if (nccl_ == nullptr) {
      const ranks::TimedPhase waiting(ranks::RankPhase::InCollective,
                                      ranks::own_slot().collective_us);
      auto store = c10::make_intrusive<c10d::PrefixStore>("nccl/" + name_, origin_.store);
      nccl_ = (*device::plugin()->nccl())
                  ->join(store, origin_.rank, origin_.size, origin_.timeout + kWatchdogSlack);
    }
    return *nccl_;
  }

  // A peer that hangs is found by the word over Gloo that ends every step, which fails as an error;
  // NCCL's watchdog, which ends the process, comes after it.
  static constexpr auto kWatchdogSlack = std::chrono::seconds(30);
  static constexpr int kTag = 0;  // what goes between two ranks arrives in order

  Origin origin_;
  std::string name_;
  std::int64_t subgroups_ = 0;  // made so far
  c10::intrusive_ptr<c10d::Backend> gloo_;
  c10::intrusive_ptr<c10d::Backend> nccl_;  // null until a tensor of a GPU is to travel
};

}  // namespace

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::unique_ptr<ProcessGroup> make_backend_group(const Origin& origin, const std::string& name) {
  return std::make_unique<BackendGroup>(origin, name);
}

}  // namespace kedge::dist
