#include "core/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/pipe.h"

namespace kedge {
namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

// What the child needs, made before fork(): after it only async-signal-safe calls are allowed.
struct ChildPlan {
  const char* program;
  char* const* args;
  const char* folder;  // null: here
  int input;
  int output;
  int errors;
  int failure;     // where errno goes when the program cannot be started
  bool has_group;  // of its own, so that it can be killed with all it started
};

[[noreturn]] void become(const ChildPlan& plan) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.has_group) {
    ::setpgid(0, 0);
  }
  const bool is_ready = ::dup2(plan.input, STDIN_FILENO) >= 0 &&
                        ::dup2(plan.output, STDOUT_FILENO) >= 0 &&
                        ::dup2(plan.errors, STDERR_FILENO) >= 0 &&
                        (plan.folder == nullptr || ::chdir(plan.folder) == 0);
  if (is_ready) {
    ::execv(plan.program, plan.args);
  }
  const int error_number = errno;
  const ssize_t told = ::write(plan.failure, &error_number, sizeof error_number);
  ::_exit(told == sizeof error_number ? 127 : 126);
}

// True while there may be more.
bool read_some(int fd, std::string& text) {
  std::array<char, 1U << 16U> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

// What poll() waits at most: -1 for ever.
int milliseconds_until(const Deadline& deadline) {
  if (!deadline) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Reads both pipes as they fill: a child that fills one while we read the other would hang. False
// when the deadline came first.
bool read_both(int output, int errors, const Deadline& deadline, ProcessResult& result) {
  std::array<pollfd, 2> fds = {pollfd{output, POLLIN, 0}, pollfd{errors, POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.output, &result.errors};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const int ready = ::poll(fds.data(), fds.size(), milliseconds_until(deadline));
    if (ready < 0 && errno != EINTR) {
      return true;
    }
    if (deadline && Clock::now() >= *deadline) {
      return false;
    }
    for (std::size_t i = 0; ready > 0 && i < fds.size(); ++i) {
      if (fds[i].fd >= 0 && fds[i].revents != 0 && !read_some(fds[i].fd, *texts[i])) {
        fds[i].fd = -1;  // poll() passes over negative ones
      }
    }
  }
  return true;
}

// The exit code, or nothing when the deadline came first.
std::optional<int> wait_for(pid_t child, const Deadline& deadline) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, deadline ? WNOHANG : 0)) != child) {
    if (ended < 0 && errno != EINTR) {
      return 0;  // the program ignores SIGCHLD: nobody keeps exit codes
    }
    if (deadline && Clock::now() >= *deadline) {
      return std::nullopt;
    }
    if (ended == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void kill_group(pid_t child) {
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);  // in case it had no time to make its group
  wait_for(child, std::nullopt);
}

}  // namespace

std::optional<Path> find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return ::access(std::string(name).c_str(), X_OK) == 0 ? std::optional<Path>(name)
                                                          : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    Path candidate = Path(folder.empty() ? "." : folder) / name;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return std::nullopt;
}

Result<ProcessResult> run_process(const Command& command) {
  KEDGE_CHECK(!command.args.empty(), "a command has a program");
  const std::optional<Path> program = find_program(command.args.front());
  if (!program) {
    return fail(ErrorKind::NotFound,
                fmt::format("program '{}' is not installed", command.args.front()),
                fmt::format("install {} and try again", command.args.front()));
  }
  const OwnedFd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe output = KEDGE_TRY(make_pipe());
  Pipe errors = KEDGE_TRY(make_pipe());
  Pipe failure = KEDGE_TRY(make_pipe());
  // The program sees its name as given; a relative folder must not change which file is run.
  const std::string file = std::filesystem::absolute(*program).string();
  std::vector<std::string> args = command.args;
  std::vector<char*> pointers;
  pointers.reserve(args.size() + 1);
  for (std::string& arg : args) {
    pointers.push_back(arg.data());
  }
  pointers.push_back(nullptr);
  const ChildPlan plan{.program = file.c_str(),
                       .args = pointers.data(),
                       .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
                       .input = input.get(),
                       .output = output.write.get(),
                       .errors = errors.write.get(),
                       .failure = failure.write.get(),
                       .has_group = command.timeout.has_value()};
  const Deadline deadline =
      command.timeout ? Deadline(Clock::now() + *command.timeout) : std::nullopt;
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorKind::Io, fmt::format("cannot start {}: {}", file, std::strerror(errno)));
  }
  if (child == 0) {
    become(plan);
  }
  output.write = OwnedFd();
  errors.write = OwnedFd();
  failure.write = OwnedFd();
  ProcessResult result;
  std::optional<int> exit_code;
  if (read_both(output.read.get(), errors.read.get(), deadline, result)) {
    exit_code = wait_for(child, deadline);
  }
  if (!exit_code) {
    kill_group(child);
    return fail(ErrorKind::Unavailable,
                fmt::format("{} did not end within {} ms", command.args.front(),
                            command.timeout.value_or(std::chrono::milliseconds(0)).count()));
  }
  result.exit_code = *exit_code;
  int start_error = 0;
  const bool has_failed =
      ::read(failure.read.get(), &start_error, sizeof start_error) == sizeof start_error;
  if (has_failed) {
    return fail(
        start_error == ENOENT ? ErrorKind::NotFound : ErrorKind::Io,
        fmt::format("cannot start {} in folder '{}': {}", file,
                    plan.folder == nullptr ? "." : plan.folder, std::strerror(start_error)));
  }
  return result;
}

}  // namespace kedge
