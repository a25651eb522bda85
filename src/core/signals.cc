#include "core/signals.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include <unistd.h>

#include "core/result.h"

namespace kedge {
namespace {

struct StopSignal {
  int number;
  std::string_view name;
};

constexpr std::array<StopSignal, 4> kStopSignals = {{
    {.number = SIGTERM, .name = "SIGTERM"},
    {.number = SIGINT, .name = "SIGINT"},
    {.number = SIGHUP, .name = "SIGHUP"},
    {.number = SIGUSR1, .name = "SIGUSR1"},
}};

// A handler may touch only lock-free atomics, and it cannot be given an object.
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<int> first_signal = 0;
std::atomic<pid_t> owner = 0;  // the process that asked to be told; 0: none

void note_signal(int number) {
  const int error_number = errno;
  if (::getpid() != owner.load()) {
    // A child between fork() and exec(), or a forked worker: nobody there looks at the flag. The
    // signal raised here is delivered as this handler returns.
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
    ::raise(number);
  } else {
    int none = 0;
    first_signal.compare_exchange_strong(none, number);
  }
  errno = error_number;
}

bool is_ignored(int number) {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() {
  pid_t nobody = 0;
  const pid_t self = ::getpid();
  KEDGE_CHECK(owner.compare_exchange_strong(nobody, self) || nobody != self,
              "one StopSignals at a time");
  owner.store(self);
  first_signal.store(0);
  struct sigaction action{};
  action.sa_handler = note_signal;
  for (const StopSignal& signal : kStopSignals) {
    ::sigaddset(&action.sa_mask, signal.number);
  }
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    const int number = kStopSignals[i].number;
    // A SIGINT puts the default back, so that the second one needs no help from this program.
    action.sa_flags = number == SIGINT ? SA_RESTART | static_cast<int>(SA_RESETHAND) : SA_RESTART;
    ::sigaction(number, is_ignored(number) ? nullptr : &action, &before_[i]);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    ::sigaction(kStopSignals[i].number, &before_[i], nullptr);
  }
  owner.store(0);
}

std::optional<int> StopSignals::requested() const {
  const int number = first_signal.load();
  return number == 0 ? std::nullopt : std::optional(number);
}

std::string_view StopSignals::name() const {
  const int number = first_signal.load();
  for (const StopSignal& signal : kStopSignals) {
    if (signal.number == number) {
      return signal.name;
    }
  }
  return {};
}

}  // namespace kedge
