#include "jobs/local/slots.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

namespace kedge::jobs::local {
namespace {

std::optional<std::string> find_own_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> split_list(const std::string& text) {
  std::istringstream parts(text);
  std::vector<std::string> list;
  for (std::string part; std::getline(parts, part, ',');) {
    if (!part.empty()) {
      list.push_back(part);
    }
  }
  return list;
}

std::int64_t count_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(CPU_COUNT(&allowed), 1)
                                                               : 1;
}

std::vector<std::string> find_gpus() {
  if (const auto visible = find_own_variable("CUDA_VISIBLE_DEVICES")) {
    return split_list(*visible);
  }
  std::vector<std::string> gpus;
  std::error_code ignored;
  while (std::filesystem::exists(fmt::format("/dev/nvidia{}", gpus.size()), ignored)) {
    gpus.push_back(std::to_string(gpus.size()));
  }
  return gpus;
}

// Nothing when another process has it.
Result<std::optional<OwnedFd>> lock_file(const Path& path) {
  OwnedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd.get() < 0) {
    return std::unexpected(io_error("cannot open", path, errno));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return std::nullopt;
  }
  return std::optional(std::move(fd));
}

}  // namespace

Machine Machine::of_this_host() {
  Machine machine;
  const auto cpus = find_own_variable("KEDGE_LOCAL_CPUS");
  machine.cpus = cpus ? std::max(std::atoll(cpus->c_str()), 1LL) : count_cpus();
  const auto gpus = find_own_variable("KEDGE_LOCAL_GPUS");
  machine.gpus = gpus ? split_list(*gpus) : find_gpus();
  const auto slots = find_own_variable("KEDGE_LOCAL_SLOTS");
  machine.slots = slots ? Path(*slots) : Path(fmt::format("/dev/shm/kedge-slots-{}", ::getuid()));
  return machine;
}

void SlotQueue::give_up() {
  head_ = OwnedFd();
  kept_ = Slots();
  has_cpu_.clear();
  has_gpu_.clear();
}

Result<void> SlotQueue::fill(std::int64_t cpus, std::int64_t gpus) {
  const auto take_some = [&](std::vector<bool>& has, std::string_view kind, std::int64_t wanted,
                             auto on_taken) -> Result<void> {
    std::int64_t count = std::ranges::count(has, true);
    for (std::size_t i = 0; i < has.size() && count < wanted; ++i) {
      if (has[i]) {
        continue;
      }
      auto file = KEDGE_TRY(lock_file(machine_.slots / fmt::format("{}-{}", kind, i)));
      if (file) {
        kept_.held_.push_back(std::move(*file));
        has[i] = true;
        ++count;
        on_taken(i);
      }
    }
    return {};
  };
  KEDGE_TRY(take_some(has_cpu_, "cpu", cpus, [](std::size_t) {}));
  return take_some(has_gpu_, "gpu", gpus,
                   [&](std::size_t i) { kept_.gpus_.push_back(machine_.gpus[i]); });
}

Result<std::optional<Slots>> SlotQueue::take(std::int64_t cpus, std::int64_t gpus) {
  cpus = std::min(cpus, machine_.cpus);
  gpus = std::min(gpus, static_cast<std::int64_t>(machine_.gpus.size()));
  if (head_.get() < 0) {
    KEDGE_TRY(make_dirs(machine_.slots));
    auto head = KEDGE_TRY(lock_file(machine_.slots / "head"));
    if (!head) {
      return std::nullopt;
    }
    head_ = std::move(*head);
    has_cpu_.assign(static_cast<std::size_t>(machine_.cpus), false);
    has_gpu_.assign(machine_.gpus.size(), false);
  }
  KEDGE_TRY(fill(cpus, gpus));
  if (std::ranges::count(has_cpu_, true) < cpus || std::ranges::count(has_gpu_, true) < gpus) {
    return std::nullopt;
  }
  Slots taken = std::move(kept_);
  give_up();
  return std::optional(std::move(taken));
}

}  // namespace kedge::jobs::local
