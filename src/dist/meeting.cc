#include "dist/meeting.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <unistd.h>

#include "core/host_name.h"
#include "core/log.h"
#include "device/plugin.h"
#include "dist/internal/backend_group.h"
#include "dist/network.h"

namespace kedge::dist {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<int> inherited_socket() {
  const char* text = std::getenv(kListenVariable);
  return text == nullptr ? std::nullopt : std::optional(std::atoi(text));
}

Result<StorePtr> open_store(const MeetingOptions& options) {
  const ranks::RankPlace& place = options.place;
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
Result<void> claim_rank(c10d::Store& store, const ranks::RankPlace& place) {
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
  const ranks::RankPlace& place = options.place;
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
  const ranks::RankPlace& place = options.place;
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

// What a rank says of its GPU: after '!' why there is none for NCCL, else which it is.
std::string describe_gpu(const MeetingOptions& options) {
  if (options.transport == Transport::Gloo || !options.why_no_gpu.empty()) {
    return "!" + options.why_no_gpu;
  }
  const auto nccl = device::plugin()->nccl();
  return nccl ? fmt::format("{} {}", host_name(), device::plugin()->device_id())
              : "!" + nccl.error().message;
}

// Over NCCL where every rank has a GPU of its own: two on one is what NCCL refuses.
Result<bool> agree_on_nccl(c10d::Store& store, const MeetingOptions& options) {
  const ranks::RankPlace& place = options.place;
  std::map<std::string, std::int64_t> owners;
  std::string trouble;
  for (std::int64_t rank = 0; rank < place.size && trouble.empty(); ++rank) {
    const std::string gpu = read_text(store, key_of("gpu", rank));
    const auto [owner, is_new] = owners.emplace(gpu, rank);
    if (gpu.starts_with('!')) {
      trouble = fmt::format("rank {} has no GPU for it: {}", rank, gpu.substr(1));
    } else if (!is_new) {
      trouble = fmt::format("ranks {} and {} have the same GPU ({})", owner->second, rank, gpu);
    }
  }
  if (!trouble.empty() && options.transport == Transport::Nccl) {
    return fail(ErrorKind::Usage, fmt::format("dist.backend is nccl, but {}", trouble),
                "start as many ranks on a machine as it has GPUs, or set dist.backend=auto");
  }
  return trouble.empty() && options.transport != Transport::Gloo;
}

}  // namespace

Result<std::unique_ptr<ProcessGroup>> meet(const MeetingOptions& options) {
  ranks::show_phase(ranks::RankPhase::Meeting);
  const ranks::RankPlace& place = options.place;
  const StorePtr store = KEDGE_TRY(open_store(options));
  try {
    KEDGE_TRY(claim_rank(*store, place));
    const RankLinks own{.host = host_name(),
                        .towards = address_towards(place.host).value_or(""),
                        .links = list_links()};
    write_text(*store, key_of("gpu", place.rank), describe_gpu(options));
    write_text(*store, key_of("links", place.rank), render(own));
    KEDGE_TRY(wait_for_all(*store, options));
    const Origin origin{.store = store,
                        .address = KEDGE_TRY(agree_on_address(*store, options)),
                        .timeout = options.timeout,
                        .rank = static_cast<int>(place.rank),
                        .size = static_cast<int>(place.size),
                        .has_nccl = KEDGE_TRY(agree_on_nccl(*store, options))};
    return make_backend_group(origin, "main");
  } catch (const std::exception& error) {
    return fail(ErrorKind::Unavailable,
                fmt::format("rank {} of {} could not join the others: {}", place.rank, place.size,
                            first_line(error)),
                "another rank may have failed first: look at its messages");
  }
}

}  // namespace kedge::dist
