#include "sweep/trial_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child_texts.h"
#include "core/file.h"
#include "core/process.h"
#include "core/result.h"
#include "core/supervise.h"

namespace kedge::sweep {
namespace {

constexpr int kExitCannotStart = 126;

timespec timespec_of(std::chrono::milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_nsec = (time.count() % 1000) * 1'000'000};
}

bool is_stop(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGUSR1 ||
         number == SIGUSR2 || number == SIGQUIT;
}

}  // namespace

Result<TrialProcess> TrialProcess::start(const ProcessPlan& plan, const HeldSignals& signals) {
  const auto program = find_program(plan.args.front());
  if (!program) {
    return fail(ErrorKind::NotFound, fmt::format("'{}' is not installed", plan.args.front()));
  }
  const OwnedFd output(
      ::open(plan.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (output.get() < 0) {
    return std::unexpected(io_error("cannot write", plan.output, errno));
  }
  const OwnedFd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  // Everything that allocates comes before the fork.
  std::vector<std::string> words = plan.args;
  std::vector<std::string> environment = environment_with(plan.variables);
  const std::vector<char*> args = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorKind::Io,
                fmt::format("cannot start {}: {}", words.front(), std::strerror(errno)));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(input.get(), STDIN_FILENO);
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(output.get(), STDERR_FILENO);
    ::pthread_sigmask(SIG_SETMASK, &signals.before(), nullptr);
    if (::getppid() == parent && ::chdir(plan.folder.c_str()) == 0) {
      ::execve(program->c_str(), args.data(), variables.data());
    }
    ::_exit(kExitCannotStart);
  }
  return TrialProcess(child, signals);
}

std::optional<int> TrialProcess::reap() {
  int status = 0;
  if (::waitpid(child_, &status, WNOHANG) != child_) {
    return std::nullopt;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<int> TrialProcess::wait(std::chrono::milliseconds timeout) {
  if (const auto code = reap()) {
    return code;
  }
  const timespec patience = timespec_of(timeout);
  siginfo_t info{};
  const int number = ::sigtimedwait(&signals_->held(), &info, &patience);
  if (number > 0 && is_stop(number)) {
    was_interrupted_ = true;
    // A terminal has told the program already.
    if (info.si_code != SI_KERNEL) {
      ::kill(child_, number == SIGQUIT ? SIGQUIT : SIGTERM);
    }
  }
  return reap();
}

void TrialProcess::stop() const {
  ::kill(child_, SIGTERM);
}

void TrialProcess::kill() const {
  ::kill(child_, SIGKILL);
}

bool wait_for_stop(const HeldSignals& signals, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    const timespec patience = timespec_of(left);
    siginfo_t info{};
    if (const int number = ::sigtimedwait(&signals.held(), &info, &patience);
        number > 0 && is_stop(number)) {
      return true;
    }
  }
}

}  // namespace kedge::sweep
