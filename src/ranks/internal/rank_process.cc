#include "ranks/internal/rank_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child_texts.h"
#include "core/log.h"
#include "core/pipe.h"
#include "ranks/rank_notes.h"
#include "ranks/rank_supervisor.h"

namespace kedge::ranks {
namespace {

// "libtorch_cpu.so(_ZN2at...+0x12)[0x7f...]" -> "at::...  (libtorch_cpu.so)"
std::string readable_frame(std::string_view frame) {
  const std::size_t open = frame.find('(');
  const std::size_t plus = frame.find('+', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || plus == std::string_view::npos || plus == open + 1) {
    return std::string(frame);
  }
  const std::string symbol(frame.substr(open + 1, plus - open - 1));
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  const std::string_view file = frame.substr(0, open);
  return fmt::format("{}  ({})", status == 0 ? name.get() : symbol.c_str(),
                     file.substr(file.rfind('/') + 1));
}

// Rank 0 says what is true of all; the rank that failed first says why, and that others miss it is
// no news.
constexpr auto kUnsaid =
    std::to_array<std::string_view>({"another rank is gone or hangs", "its own messages say why",
                                     ": stopped at step ", "run the same command again to go on"});

void print_of_rank(std::int64_t rank, std::string_view line) {
  if (std::ranges::none_of(kUnsaid, [&](std::string_view text) { return line.contains(text); })) {
    print_line(fmt::format("[rank {}] {}", rank, line));
  }
}

}  // namespace

Result<RankProcess> RankProcess::start(const RankStart& start) {
  RankProcess process;
  process.rank_ = start.rank;
  Pipe output = KEDGE_TRY(make_pipe(O_NONBLOCK));
  Pipe stacks = KEDGE_TRY(make_pipe(O_NONBLOCK));
  Pipe notes = KEDGE_TRY(make_pipe(O_NONBLOCK));
  std::vector<std::string> args = start.command;
  auto variables = start.variables;
  variables.emplace_back(kStackVariable, std::to_string(stacks.write.get()));
  if (start.rank == 0) {
    variables.emplace_back(kNotesVariable, std::to_string(notes.read.get()));
  }
  std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> arg_pointers = pointers_to(args);
  const std::vector<char*> variable_pointers = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(ErrorKind::Io, fmt::format("cannot start a rank: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    // Ctrl-C is for the supervisor, which passes it on once; and nobody outlives the supervisor.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
      ::_exit(127);
    }
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    if (start.rank != 0) {
      ::dup2(output.write.get(), STDOUT_FILENO);
      ::dup2(output.write.get(), STDERR_FILENO);
    }
    ::fcntl(stacks.write.get(), F_SETFD, 0);
    if (start.rank == 0) {
      ::fcntl(notes.read.get(), F_SETFD, 0);
    }
    for (const int fd : start.inherited) {
      ::fcntl(fd, F_SETFD, 0);
    }
    ::execve(arg_pointers.front(), arg_pointers.data(), variable_pointers.data());
    ::_exit(127);
  }
  process.pid_.value = pid;
  process.output_ = std::move(output.read);
  process.stacks_ = std::move(stacks.read);
  process.notes_ = std::move(notes.write);
  process.splitter_.emplace(
      [rank = start.rank](std::string_view line) { print_of_rank(rank, line); });
  return process;
}

RankProcess::~RankProcess() {
  if (pid_.value > 0 && !exit_code()) {
    ::kill(pid_.value, SIGKILL);
    ::waitpid(pid_.value, nullptr, 0);
  }
}

void RankProcess::pass_output() {
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t count = output_.get() < 0 ? 0 : ::read(output_.get(), block.data(), block.size());
    if (count > 0) {
      splitter_->add({block.data(), static_cast<std::size_t>(count)});
      continue;
    }
    if (count == 0 && output_.get() >= 0) {
      splitter_->finish();
      output_ = OwnedFd();
    }
    return;
  }
}

std::optional<int> RankProcess::exit_code() {
  int status = 0;
  if (!exit_code_ && ::waitpid(pid_.value, &status, WNOHANG) == pid_.value) {
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return exit_code_;
}

void RankProcess::send(int signal) {
  if (!exit_code()) {
    ::kill(pid_.value, signal);
  }
}

void RankProcess::tell(std::string_view note) {
  if (rank_ == 0 && !exit_code()) {
    send_note(notes_.get(), note);
  }
}

std::vector<std::string> RankProcess::ask_stack() {
  constexpr int kPatience_ms = 500;
  send(SIGUSR2);
  std::string text;
  std::array<char, 4096> block{};
  pollfd wait{.fd = stacks_.get(), .events = POLLIN, .revents = 0};
  while (!text.ends_with("\n\n") && ::poll(&wait, 1, kPatience_ms) > 0) {
    const ssize_t count = ::read(stacks_.get(), block.data(), block.size());
    if (count <= 0) {
      break;
    }
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  std::vector<std::string> frames;
  constexpr std::size_t kMost = 16;
  LineSplitter lines([&](std::string_view line) {
    if (!line.empty() && frames.size() < kMost) {
      frames.push_back(readable_frame(line));
    }
  });
  lines.add(text);
  lines.finish();
  return frames;
}

}  // namespace kedge::ranks
