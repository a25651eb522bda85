#include "ranks/rank_board.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kedge::ranks {
namespace {

// A wrong variable must not make us write into somebody else's file.
constexpr std::uint64_t kMagic = 0x6b65646765626f64;  // "kedgebod"
constexpr std::size_t kHeaderBytes = 64;

static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t monotonic_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::size_t bytes_of(std::size_t ranks) {
  return kHeaderBytes + ranks * sizeof(RankSlot);
}

std::unexpected<Error> failed(const char* what) {
  return fail(ErrorKind::Io, fmt::format("the ranks' board: {}: {}", what, std::strerror(errno)));
}

template <std::size_t N>
void put_text(char (&place)[N], std::string_view text) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(place, text.data(), size);
  place[size] = '\0';
}

// Null where the variable is missing or does not name a board.
RankSlot* open_own_slot() {
  const char* text = std::getenv(kBoardVariable);
  if (text == nullptr) {
    return nullptr;
  }
  int fd = -1;
  std::size_t index = 0;
  const char* end = text + std::strlen(text);
  const auto first = std::from_chars(text, end, fd);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':' ||
      std::from_chars(first.ptr + 1, end, index).ec != std::errc()) {
    return nullptr;
  }
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < static_cast<off_t>(bytes_of(index + 1))) {
    return nullptr;
  }
  void* memory =
      ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  std::uint64_t magic = 0;
  std::memcpy(&magic, memory, sizeof magic);
  if (magic != kMagic) {
    ::munmap(memory, static_cast<std::size_t>(size));
    return nullptr;
  }
  return reinterpret_cast<RankSlot*>(static_cast<char*>(memory) + kHeaderBytes) + index;
}

}  // namespace

std::string_view name_of(RankPhase phase) {
  constexpr std::array<std::string_view, 10> kNames = {"starting",
                                                       "meeting the others",
                                                       "preparing",
                                                       "waiting for data",
                                                       "computing",
                                                       "in a collective",
                                                       "saving",
                                                       "validating",
                                                       "without another rank",
                                                       "done"};
  return kNames[static_cast<std::size_t>(phase) % kNames.size()];
}

std::string_view name_of(Collective collective) {
  constexpr std::array<std::string_view, 11> kNames = {
      "none",    "all-reduce of gradients",  "all-reduce",     "broadcast",  "all-gather",
      "barrier", "all-reduce of batch norm", "reduce-scatter", "all-to-all", "send",
      "receive"};
  return kNames[static_cast<std::size_t>(collective) % kNames.size()];
}

std::int64_t monotonic_ms() {
  return monotonic_us() / 1000;
}

Result<RankBoard> RankBoard::create(std::size_t ranks) {
  OwnedFd fd(::memfd_create("kedge-ranks", 0));
  if (fd.get() < 0 || ::ftruncate(fd.get(), static_cast<off_t>(bytes_of(ranks))) != 0) {
    return failed("cannot be made");
  }
  void* memory = ::mmap(nullptr, bytes_of(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return failed("cannot be mapped");
  }
  std::memcpy(memory, &kMagic, sizeof kMagic);
  auto* slots = reinterpret_cast<RankSlot*>(static_cast<char*>(memory) + kHeaderBytes);
  RankBoard board(std::move(fd), slots, ranks);
  board.clear();
  return board;
}

RankBoard::RankBoard(RankBoard&& other) noexcept
    : fd_(std::move(other.fd_)), slots_(std::exchange(other.slots_, nullptr)), size_(other.size_) {}

RankBoard::~RankBoard() {
  if (slots_ != nullptr) {
    ::munmap(reinterpret_cast<char*>(slots_) - kHeaderBytes, bytes_of(size_));
  }
}

void RankBoard::clear() {
  for (std::size_t i = 0; i < size_; ++i) {
    new (&slots_[i]) RankSlot();
    slots_[i].beat_ms = monotonic_ms();
  }
}

RankSlot& own_slot() {
  static RankSlot unseen;
  static RankSlot* const slot = [] {
    RankSlot* found = open_own_slot();
    found = found == nullptr ? &unseen : found;
    found->pid = ::getpid();
    found->beat_ms = monotonic_ms();
    return found;
  }();
  return *slot;
}

void show_phase(RankPhase phase) {
  RankSlot& slot = own_slot();
  slot.phase.store(phase, std::memory_order_relaxed);
  slot.beat_ms.store(monotonic_ms(), std::memory_order_relaxed);
}

void show_step(std::int64_t epoch, std::int64_t step) {
  RankSlot& slot = own_slot();
  slot.epoch.store(epoch, std::memory_order_relaxed);
  slot.step.store(step, std::memory_order_relaxed);
  slot.beat_ms.store(monotonic_ms(), std::memory_order_relaxed);
}

void show_run(std::string_view id) {
  put_text(own_slot().run_id, id);
}

void show_memory(std::string_view folder) {
  put_text(own_slot().memory, folder);
}

TimedPhase::TimedPhase(RankPhase phase, std::atomic<std::int64_t>& us)
    : before_(own_slot().phase.load(std::memory_order_relaxed)),
      us_(us),
      started_us_(monotonic_us()) {
  show_phase(phase);
}

TimedPhase::~TimedPhase() {
  us_.fetch_add(monotonic_us() - started_us_, std::memory_order_relaxed);
  show_phase(before_);
}

}  // namespace kedge::ranks
