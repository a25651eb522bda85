// c10d's headers are included here and nowhere else.
#define USE_C10D_GLOO

#include "dist/meeting.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/types.h>
#include <unistd.h>

#include "core/log.h"
#include "dist/network.h"

namespace kedge::dist {
namespace {

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using Clock = std::chrono::steady_clock;

// libtorch's messages go on with its own stack, which helps nobody here.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

// Counts an exchange on the board, and turns what Gloo throws into PeerError.
template <typename Action>
auto exchange(launch::Collective what, Action&& action) {
  launch::RankSlot& slot = launch::own_slot();
  slot.collective.store(what, std::memory_order_relaxed);
  slot.collectives.fetch_add(1, std::memory_order_relaxed);
  slot.beat_ms.store(launch::monotonic_ms(), std::memory_order_relaxed);
  try {
    return action();
  } catch (const std::exception& error) {
    throw PeerError(fmt::format("another rank is gone or hangs: the {} failed: {}",
                                launch::name_of(what), first_line(error)));
  }
}

// While a rank waits in one, the board says so.
class Waiting {
 private:
  launch::TimedPhase phase_{launch::RankPhase::Exchange, launch::own_slot().exchange_us};
};

class BackendWork : public Work {
 public:
  BackendWork(c10::intrusive_ptr<c10d::Work> work, launch::Collective what)
      : work_(std::move(work)), what_(what) {}

  void wait() override {
    try {
      work_->wait();
    } catch (const std::exception& error) {
      throw PeerError(fmt::format("another rank is gone or hangs: the {} failed: {}",
                                  launch::name_of(what_), first_line(error)));
    }
    launch::own_slot().finished_collectives.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  launch::Collective what_;
};

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

// What a group needs to make another one.
struct Origin {
  StorePtr store;
  std::string address;  // this rank's
  std::chrono::milliseconds timeout;
  int rank = 0;
  int size = 1;
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
  BackendGroup(Origin origin, const std::string& name)
      : origin_(std::move(origin)), backend_(make_gloo(origin_, name)) {}

  std::int64_t rank() const override { return origin_.rank; }

  std::int64_t size() const override { return origin_.size; }

  void all_reduce_sum(at::Tensor& tensor) override {
    const Waiting waiting;
    start_sum(tensor, launch::Collective::Sum)->wait();
  }

  std::unique_ptr<Work> start_sum(const at::Tensor& tensor, launch::Collective what) override {
    return exchange(what, [&] {
      std::vector<at::Tensor> tensors = {tensor};
      return std::make_unique<BackendWork>(backend_->allreduce(tensors), what);
    });
  }

  void broadcast(at::Tensor& tensor, std::int64_t root) override {
    const Waiting waiting;
    constexpr auto kWhat = launch::Collective::Broadcast;
    exchange(kWhat, [&] {
      std::vector<at::Tensor> tensors = {tensor};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return BackendWork(backend_->broadcast(tensors, options), kWhat);
    }).wait();
  }

  at::Tensor all_gather(const at::Tensor& tensor) override {
    const Waiting waiting;
    constexpr auto kWhat = launch::Collective::Gather;
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int i = 0; i < origin_.size; ++i) {
      outputs.front().push_back(torch::empty_like(tensor));
    }
    exchange(kWhat, [&] {
      std::vector<at::Tensor> inputs = {tensor};
      return BackendWork(backend_->allgather(outputs, inputs), kWhat);
    }).wait();
    return torch::stack(outputs.front());
  }

  void barrier() override {
    const Waiting waiting;
    constexpr auto kWhat = launch::Collective::Barrier;
    exchange(kWhat, [&] { return BackendWork(backend_->barrier(), kWhat); }).wait();
  }

  std::unique_ptr<ProcessGroup> make_twin(const std::string& name) override {
    return std::make_unique<BackendGroup>(origin_, name);
  }

  std::unique_ptr<Mailbox> open_mailbox() override {
    return std::make_unique<StoreMailbox>(
        c10::make_intrusive<c10d::PrefixStore>("mail", origin_.store->clone()));
  }

 private:
  Origin origin_;
  c10::intrusive_ptr<c10d::Backend> backend_;
};

std::string host_name() {
  std::string name(256, '\0');
  ::gethostname(name.data(), name.size() - 1);
  return name.c_str();
}

std::optional<int> inherited_socket() {
  const char* text = std::getenv(kListenVariable);
  return text == nullptr ? std::nullopt : std::optional(std::atoi(text));
}

Result<StorePtr> open_store(const MeetingOptions& options) {
  const launch::RankPlace& place = options.place;
  c10d::TCPStoreOptions store;
  store.port = static_cast<std::uint16_t>(place.port);
  store.isServer = place.rank == 0;
  store.waitWorkers = false;
  store.timeout = options.init_timeout;
  if (store.isServer) {
    store.masterListenFd = inherited_socket();
  }
  try {
    return StorePtr(c10::make_intrusive<c10d::TCPStore>(place.host, store));
  } catch (const std::exception& error) {
    const std::string where = fmt::format("{}:{}", place.host, place.port);
    if (store.isServer) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("rank 0 cannot listen at {}: {}", where, first_line(error)),
                  "if the port is taken, either another job uses it (set another MASTER_PORT) or "
                  "another process takes itself for rank 0 as well: look at RANK of each");
    }
    return fail(
        ErrorKind::Unavailable,
        fmt::format("rank {} cannot reach rank 0 at {}: {}", place.rank, where, first_line(error)),
        "is rank 0 running, is MASTER_ADDR a name that this machine knows and not its own "
        "localhost, and does no firewall stand between? `kedge net` tries the way");
  }
}

std::string key_of(const char* what, std::int64_t rank) {
  return fmt::format("{}/{}", what, rank);
}

std::string read_text(c10d::Store& store, const std::string& key) {
  const std::vector<std::uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void write_text(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

// Each rank is claimed once, or two processes would train on the same samples.
Result<void> claim_rank(c10d::Store& store, const launch::RankPlace& place) {
  const std::string self = fmt::format("process {} on {}", ::getpid(), host_name());
  if (store.add(key_of("claims", place.rank), 1) == 1) {
    write_text(store, key_of("who", place.rank), self);
    return {};
  }
  store.wait({key_of("who", place.rank)});
  return fail(ErrorKind::Usage,
              fmt::format("two processes are rank {} of {}: {} and {}", place.rank, place.size,
                          read_text(store, key_of("who", place.rank)), self),
              fmt::format("each must get its own rank; these come from {}. Under srun, set neither "
                          "RANK nor WORLD_SIZE yourself: kedge reads SLURM_PROCID",
                          place.source));
}

std::vector<std::int64_t> find_missing(c10d::Store& store, std::int64_t size) {
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < size; ++rank) {
    if (!store.check({key_of("links", rank)})) {
      missing.push_back(rank);
    }
  }
  return missing;
}

Result<void> wait_for_all(c10d::Store& store, const MeetingOptions& options) {
  constexpr auto kFirstWord = std::chrono::seconds(10);
  const launch::RankPlace& place = options.place;
  const auto start = Clock::now();
  bool has_spoken = false;
  for (auto pause = std::chrono::milliseconds(2);;
       pause = std::min(2 * pause, std::chrono::milliseconds(250))) {
    const std::vector<std::int64_t> missing = find_missing(store, place.size);
    if (missing.empty()) {
      return {};
    }
    const auto waited = Clock::now() - start;
    const std::string what = fmt::format("{} of {} ranks have come to {}:{}; missing: rank {}",
                                         place.size - std::ssize(missing), place.size, place.host,
                                         place.port, fmt::join(missing, ", "));
    if (waited > options.init_timeout) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("stuck at the start: after {} s only {}",
                              std::chrono::round<std::chrono::seconds>(waited).count(), what),
                  "were all ranks started, with the same WORLD_SIZE, MASTER_ADDR and MASTER_PORT? "
                  "Where every process waits for all others, each takes itself for rank 0 on its "
                  "own machine: RANK or MASTER_ADDR is not set for the job. dist.init_timeout is "
                  "how long to wait");
    }
    if (waited > kFirstWord && place.rank == 0 && !std::exchange(has_spoken, true)) {
      say("waiting  {}", what);
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<std::string> agree_on_address(c10d::Store& store, const MeetingOptions& options) {
  const launch::RankPlace& place = options.place;
  std::vector<RankLinks> ranks;
  for (std::int64_t rank = 0; rank < place.size; ++rank) {
    ranks.push_back(KEDGE_TRY(parse_rank_links(read_text(store, key_of("links", rank)))));
  }
  const auto own = static_cast<std::size_t>(place.rank);
  if (!options.interface.empty()) {
    for (const Link& link : ranks[own].links) {
      if (link.name == options.interface) {
        return link.address;
      }
    }
    std::vector<std::string> names;
    for (const Link& link : ranks[own].links) {
      names.push_back(link.name);
    }
    return fail(ErrorKind::Usage,
                fmt::format("rank {} has no network interface '{}' with an IPv4 address",
                            place.rank, options.interface),
                fmt::format("dist.interface can be one of: {}", fmt::join(names, ", ")));
  }
  if (const auto chosen = choose_address(ranks, own)) {
    return *chosen;
  }
  if (!ranks[own].towards.empty()) {
    return ranks[own].towards;
  }
  return fail(ErrorKind::Unavailable,
              fmt::format("rank {} finds no network on which it can reach the others", place.rank),
              "set dist.interface to the one that leads to the other machines");
}

}  // namespace

Result<std::unique_ptr<ProcessGroup>> meet(const MeetingOptions& options) {
  launch::show_phase(launch::RankPhase::Meeting);
  const launch::RankPlace& place = options.place;
  const StorePtr store = KEDGE_TRY(open_store(options));
  try {
    KEDGE_TRY(claim_rank(*store, place));
    const RankLinks own{.host = host_name(),
                        .towards = address_towards(place.host).value_or(""),
                        .links = list_links()};
    write_text(*store, key_of("links", place.rank), render(own));
    KEDGE_TRY(wait_for_all(*store, options));
    Origin origin{.store = store,
                  .address = KEDGE_TRY(agree_on_address(*store, options)),
                  .timeout = options.timeout,
                  .rank = static_cast<int>(place.rank),
                  .size = static_cast<int>(place.size)};
    return std::make_unique<BackendGroup>(std::move(origin), "main");
  } catch (const std::exception& error) {
    return fail(ErrorKind::Unavailable,
                fmt::format("rank {} of {} could not join the others: {}", place.rank, place.size,
                            first_line(error)),
                "another rank may have failed first: look at its messages");
  }
}

}  // namespace kedge::dist
