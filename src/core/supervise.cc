#include "core/supervise.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/child_texts.h"
#include "core/file.h"
#include "core/internal/output_channel.h"
#include "core/line_splitter.h"
#include "core/log.h"
#include "core/pipe.h"
#include "core/process.h"
#include "core/result.h"

namespace kedge {
namespace {

using Clock = std::chrono::steady_clock;

// Processes that the program left behind may hold its output open for ever.
constexpr auto kOutputPatience = std::chrono::seconds(3);

constexpr std::array kForwarded = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                   SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

bool is_ignored(int number) {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Made before fork(): after it only async-signal-safe calls are allowed.
struct ChildPlan {
  std::string file;
  std::vector<std::string> args;
  std::vector<std::string> variables;
  std::vector<char*> arg_pointers = {};
  std::vector<char*> variable_pointers = {};
};

ChildPlan make_plan(const Program& program, const Path& file) {
  ChildPlan plan{.file = file.string(),
                 .args = program.args,
                 .variables = environment_with(program.variables)};
  plan.arg_pointers = pointers_to(plan.args);
  plan.variable_pointers = pointers_to(plan.variables);
  return plan;
}

struct ChildOutputs {
  int output;
  int errors;
  int failure;  // where errno goes when the program cannot be started
};

[[noreturn]] void become(const ChildPlan& plan, const ChildOutputs& outputs,
                         const sigset_t& signals) {
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  if (::dup2(outputs.output, STDOUT_FILENO) >= 0 && ::dup2(outputs.errors, STDERR_FILENO) >= 0) {
    ::execve(plan.file.c_str(), plan.arg_pointers.data(), plan.variable_pointers.data());
  }
  const int error_number = errno;
  const ssize_t told = ::write(outputs.failure, &error_number, sizeof error_number);
  ::_exit(told == sizeof error_number ? 127 : 126);
}

void ignore_line(std::string_view) {}

// Our children: as we are their subreaper, all that the program started and did not wait for.
std::vector<pid_t> find_children() {
  std::vector<pid_t> children;
  const auto text = read_file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  std::istringstream words(text.value_or(""));
  for (pid_t child = 0; words >> child;) {
    children.push_back(child);
  }
  return children;
}

// The children of those that are ended become ours in turn.
void end_leftovers() {
  constexpr int kRoundsMax = 200;
  for (int round = 0; round < kRoundsMax; ++round) {
    const std::vector<pid_t> children = find_children();
    if (children.empty()) {
      return;
    }
    for (const pid_t child : children) {
      ::kill(child, round < kRoundsMax / 4 ? SIGTERM : SIGKILL);
    }
    const timespec moment{.tv_sec = 0, .tv_nsec = 10'000'000};
    ::nanosleep(&moment, nullptr);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

// The program while it runs.
class Supervision {
 public:
  Supervision(const Program& program, const HeldSignals& signals,
              std::vector<OutputChannel> channels, pid_t child)
      : channels_(std::move(channels)),
        splitters_(channels_.size(), LineSplitter(program.on_line ? program.on_line : ignore_line)),
        signal_fd_(::signalfd(-1, &signals.held(), SFD_CLOEXEC | SFD_NONBLOCK)),
        child_(child),
        program_(program) {
    if (program.stop_at) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     *program.stop_at - std::chrono::system_clock::now());
    }
  }

  ProgramEnd run() {
    while (!exit_code_ || (has_open_channel() && Clock::now() < deadline_)) {
      wait();
      read_signals();
      pass_output();
      stop_in_time();
    }
    if (has_open_channel()) {
      warn("processes that the program left behind are still printing; they are on their own now");
    }
    for (LineSplitter& splitter : splitters_) {
      splitter.finish();
    }
    return {
        .exit_code = *exit_code_, .was_stopped = is_told_to_stop_, .was_signalled = was_signalled_};
  }

 private:
  bool has_open_channel() const {
    return std::ranges::any_of(channels_, [](const auto& channel) { return channel.is_open(); });
  }

  void wait() {
    fds_.clear();
    for (const OutputChannel& channel : channels_) {
      fds_.push_back({channel.poll_fd(), POLLIN, 0});  // poll() passes over negative ones
    }
    fds_.push_back({signal_fd_.get(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    // poll() counts in int; whoever waits longer comes back here.
    const auto wait_ms = static_cast<int>(std::clamp(left.count(), 0L, 3'600'000L));
    ::poll(fds_.data(), fds_.size(), exit_code_ || program_.stop_at ? wait_ms : -1);
  }

  void stop_in_time() {
    if (exit_code_ || !program_.stop_at || Clock::now() < deadline_) {
      return;
    }
    ::kill(child_, is_told_to_stop_ ? SIGKILL : SIGTERM);
    is_told_to_stop_ = true;
    deadline_ = Clock::now() + program_.stop_patience;
  }

  void pass_output() {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (fds_[i].revents != 0) {
        splitters_[i].add(channels_[i].pass());
      }
    }
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (::read(signal_fd_.get(), &info, sizeof info) == sizeof info) {
      handle(info);
    }
  }

  void handle(const signalfd_siginfo& info) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) {
      reap();
      return;
    }
    if (number == SIGWINCH) {
      for (const OutputChannel& channel : channels_) {
        channel.copy_window_size();
      }
    }
    // A terminal has told the program already, which is in the same group of processes. The size of
    // its own terminal, though, has changed only now.
    const bool is_told = info.ssi_code == SI_KERNEL && number != SIGWINCH;
    if (!exit_code_ && !is_told && !is_ignored(number)) {
      ::kill(child_, number);
    }
    was_signalled_ = was_signalled_ || number == SIGTERM || number == SIGINT || number == SIGUSR1;
  }

  void reap() {
    int status = 0;
    while (::waitpid(child_, &status, WNOHANG | WUNTRACED) == child_) {
      if (WIFSTOPPED(status)) {
        // So that the shell sees the job stopped. SIGCONT wakes both.
        ::raise(SIGSTOP);
        ::kill(child_, SIGCONT);
        continue;
      }
      exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      deadline_ = Clock::now() + kOutputPatience;
      if (program_.ends_leftovers) {
        end_leftovers();
      }
      return;
    }
  }

  std::vector<OutputChannel> channels_;
  std::vector<LineSplitter> splitters_;
  OwnedFd signal_fd_;
  pid_t child_;
  std::vector<pollfd> fds_;
  const Program& program_;
  std::optional<int> exit_code_;
  bool is_told_to_stop_ = false;
  bool was_signalled_ = false;
  Clock::time_point deadline_;  // of the program, then of its output
};

}  // namespace

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int number : kForwarded) {
    ::sigaddset(&held_, number);
  }
  ::sigaddset(&held_, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool HeldSignals::has_stop() const {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGINT) == 1 || ::sigismember(&pending, SIGTERM) == 1;
}

Result<int> supervise(const Program& program, const HeldSignals& signals) {
  return KEDGE_TRY(supervise_to_end(program, signals)).exit_code;
}

Result<ProgramEnd> supervise_to_end(const Program& program, const HeldSignals& signals) {
  const std::optional<Path> found = find_program(program.args.front());
  if (!found) {
    return fail(ErrorKind::NotFound,
                fmt::format("program '{}' is not installed", program.args.front()));
  }
  ChildPlan plan = make_plan(program, std::filesystem::absolute(*found));
  ChildEnds ends;
  std::vector<OutputChannel> channels =
      KEDGE_TRY(program.is_passed_on ? make_output_channels(ends) : make_silent_channel(ends));
  Pipe failure = KEDGE_TRY(make_pipe());
  ::signal(SIGPIPE, SIG_IGN);
  if (program.ends_leftovers) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorKind::Io, fmt::format("cannot start {}: {}", plan.file, std::strerror(errno)));
  }
  if (child == 0) {
    become(plan, {ends.output.get(), ends.errors.get(), failure.write.get()}, signals.before());
  }
  ends = {};
  failure.write = OwnedFd();
  int start_error = 0;
  if (::read(failure.read.get(), &start_error, sizeof start_error) == sizeof start_error) {
    ::waitpid(child, nullptr, 0);
    return fail(start_error == ENOENT ? ErrorKind::NotFound : ErrorKind::Io,
                fmt::format("cannot start {}: {}", plan.file, std::strerror(start_error)));
  }
  if (program.on_start) {
    program.on_start(child);
  }
  return Supervision(program, signals, std::move(channels), child).run();
}

}  // namespace kedge
