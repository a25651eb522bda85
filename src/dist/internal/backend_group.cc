#include "dist/internal/backend_group.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/types.h>

#include "device/plugin.h"
#include "ranks/rank_board.h"

namespace kedge::dist {
namespace {

using Clock = std::chrono::steady_clock;

// Counts a collective on the board, and turns what Gloo throws into PeerError.
template <typename Action>
auto run_collective(ranks::Collective what, Action&& action) {
  ranks::RankSlot& slot = ranks::own_slot();
  slot.collective.store(what, std::memory_order_relaxed);
  slot.collectives.fetch_add(1, std::memory_order_relaxed);
  slot.beat_ms.store(ranks::monotonic_ms(), std::memory_order_relaxed);
  try {
    return action();
  } catch (const std::exception& error) {
    throw PeerError(fmt::format("another rank is gone or hangs: the {} failed: {}",
                                ranks::name_of(what), first_line(error)));
  }
}

// While a rank waits in one, the board says so.
class Waiting {
 private:
  ranks::TimedPhase phase_{ranks::RankPhase::InCollective, ranks::own_slot().collective_us};
};

// Of c10d, or of the GPUs: both have a wait().
template <typename Pointer>
class BackendWork : public Work {
 public:
  BackendWork(Pointer work, ranks::Collective what) : work_(std::move(work)), what_(what) {}

  void wait() override {
    try {
      work_->wait();
    } catch (const std::exception& error) {
      throw PeerError(fmt::format("another rank is gone or hangs: the {} failed: {}",
                                  ranks::name_of(what_), first_line(error)));
    }
    ranks::own_slot().finished_collectives.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Pointer work_;
  ranks::Collective what_;
};

template <typename Pointer>
std::unique_ptr<Work> wrap(Pointer work, ranks::Collective what) {
  return std::make_unique<BackendWork<Pointer>>(std::move(work), what);
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

  std::int64_t rank() const override { return origin_.rank; }

  std::int64_t size() const override { return origin_.size; }

  // Whoever asks for NCCL with one rank wants to see it work.
  bool is_alone() const override { return origin_.size == 1 && !origin_.has_nccl; }

  std::string_view transport() const override { return origin_.has_nccl ? "nccl" : "gloo"; }

  bool can_capture() const override { return origin_.has_nccl; }

  void all_reduce_sum(at::Tensor& tensor) override {
    const Waiting waiting;
    start_all_reduce(tensor, ranks::Collective::AllReduce)->wait();
  }

  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor,
                                         ranks::Collective what) override {
    return run_collective(what, [&] {
      if (device::DeviceGroup* gpus = gpus_for(tensor)) {
        return wrap(gpus->all_reduce(tensor), what);
      }
      std::vector<at::Tensor> tensors = {tensor};
      return wrap(gloo_->allreduce(tensors), what);
    });
  }

  void broadcast(at::Tensor& tensor, std::int64_t root) override {
    const Waiting waiting;
    constexpr auto kWhat = ranks::Collective::Broadcast;
    run_collective(kWhat, [&] {
      if (device::DeviceGroup* gpus = gpus_for(tensor)) {
        return wrap(gpus->broadcast(tensor, static_cast<int>(root)), kWhat);
      }
      std::vector<at::Tensor> tensors = {tensor};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return wrap(gloo_->broadcast(tensors, options), kWhat);
    })->wait();
  }

  at::Tensor all_gather(const at::Tensor& tensor) override {
    const Waiting waiting;
    constexpr auto kWhat = ranks::Collective::AllGather;
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape.insert(shape.begin(), origin_.size);
    at::Tensor all = torch::empty(shape, tensor.options());
    std::vector<std::vector<at::Tensor>> rows = {all.unbind()};
    run_collective(kWhat, [&] {
      if (device::DeviceGroup* gpus = gpus_for(tensor)) {
        return wrap(gpus->all_gather(tensor.contiguous(), all), kWhat);
      }
      std::vector<at::Tensor> inputs = {tensor};
      return wrap(gloo_->allgather(rows, inputs), kWhat);
    })->wait();
    return all;
  }

  void barrier() override {
    const Waiting waiting;
    constexpr auto kWhat = ranks::Collective::Barrier;
    run_collective(kWhat, [&] { return wrap(gloo_->barrier(), kWhat); })->wait();
  }

  std::unique_ptr<ProcessGroup> make_twin(const std::string& name) override {
    return std::make_unique<BackendGroup>(origin_, name);
  }

  std::unique_ptr<Mailbox> open_mailbox() override {
    return std::make_unique<StoreMailbox>(
        c10::make_intrusive<c10d::PrefixStore>("mail", origin_.store->clone()));
  }

 private:
  // Null: through the host. The GPUs meet when the first of their tensors is to travel, because
  // most twins have none.
  device::DeviceGroup* gpus_for(const at::Tensor& tensor) {
    if (!origin_.has_nccl || !tensor.is_cuda()) {
      return nullptr;
    }
    if (gpus_ == nullptr) {
      gpus_ = join_gpus();
    }
    return gpus_.get();
  }

  std::unique_ptr<device::DeviceGroup> join_gpus() {
    device::Plugin& plugin = *device::plugin();
    const std::string key = "nccl/" + name_;
    device::DeviceGroupPlace place{.id = "", .rank = origin_.rank, .size = origin_.size};
    if (origin_.rank == 0) {
      place.id = value_of(plugin.make_group_id());
      origin_.store->set(key, std::vector<std::uint8_t>(place.id.begin(), place.id.end()));
    } else {
      const std::vector<std::uint8_t> bytes = origin_.store->get(key);
      place.id.assign(bytes.begin(), bytes.end());
    }
    return value_of(plugin.join_group(place));
  }

  template <typename T>
  static T value_of(Result<T> result) {
    if (!result) {
      throw std::runtime_error(result.error().message);
    }
    return std::move(*result);
  }

  Origin origin_;
  std::string name_;
  c10::intrusive_ptr<c10d::Backend> gloo_;
  std::unique_ptr<device::DeviceGroup> gpus_;
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
