#include "jobs/local/task_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child_texts.h"

namespace kedge::jobs::local {
namespace {

struct BashPlan {
  std::string bash = "/bin/bash";
  std::string script;
  std::string folder;
  std::vector<std::string> variables;
  std::vector<char*> args = {};
  std::vector<char*> pointers = {};
};

// Only async-signal-safe calls.
[[noreturn]] void become_bash(const BashPlan& plan, int output, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  // The supervisor may have died before PR_SET_PDEATHSIG was there.
  if (::getppid() == parent && input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
      ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0 &&
      ::chdir(plan.folder.c_str()) == 0) {
    ::execve(plan.bash.c_str(), plan.args.data(), plan.pointers.data());
  }
  ::_exit(126);
}

}  // namespace

Result<TaskProcess> TaskProcess::start(const TaskProcessPlan& plan) {
  const OwnedFd output(
      ::open(plan.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (output.get() < 0) {
    return std::unexpected(io_error("cannot open", plan.output, errno));
  }
  BashPlan child_plan{.script = plan.script.string(),
                      .folder = plan.folder.string(),
                      .variables = environment_with(plan.variables)};
  child_plan.args = {child_plan.bash.data(), child_plan.script.data(), nullptr};
  for (std::string& variable : child_plan.variables) {
    child_plan.pointers.push_back(variable.data());
  }
  child_plan.pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorKind::Io, fmt::format("cannot start a task: {}", std::strerror(errno)));
  }
  if (child == 0) {
    become_bash(child_plan, output.get(), parent);
  }
  return TaskProcess(child);
}

std::optional<TaskProcessEnd> TaskProcess::find_end() const {
  int status = 0;
  rusage usage{};
  if (::wait4(child_, &status, WNOHANG, &usage) != child_) {
    return std::nullopt;
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return TaskProcessEnd{
      .exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
      .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
      .memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
}

void TaskProcess::signal(int number) const {
  ::kill(-child_, number);
}

void wait_for_child(std::chrono::milliseconds timeout) {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  const timespec time{.tv_sec = timeout.count() / 1000,
                      .tv_nsec = timeout.count() % 1000 * 1'000'000};
  ::sigtimedwait(&child, nullptr, &time);
}

}  // namespace kedge::jobs::local
