#include "jobs/task_share.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child_texts.h"
#include "core/line_splitter.h"
#include "core/pipe.h"

namespace kedge::jobs {
namespace {

constexpr std::array<int, 4> kPassedOn = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split_items(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, '\t');) {
    items.push_back(item);
  }
  return items;
}

// One of the tasks: its process, and the thread that reads what it prints.
struct RunningTask {
  std::int64_t number = 0;
  pid_t process = 0;
  bool has_ended = false;
  int exit_code = 0;
  std::thread reader = {};
};

void read_lines(const OwnedFd& from, std::int64_t number, std::mutex& printing) {
  LineSplitter lines([&](std::string_view line) {
    const std::lock_guard lock(printing);
    fmt::print("{}| {}\n", number, line);
    std::fflush(stdout);
  });
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t count = ::read(from.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    lines.add({bytes.data(), static_cast<std::size_t>(count)});
  }
  lines.finish();
}

Result<void> start(RunningTask& member, const SharedTasks& tasks, const std::string& item,
                   const Path& kedge, std::mutex& printing) {
  Pipe output = KEDGE_TRY(make_pipe());
  std::vector<std::string> words = {kedge.string(), "task", "--"};
  words.insert(words.end(), tasks.command.begin(), tasks.command.end());
  std::vector<std::string> variables =
      environment_with({{"KEDGE_TASK", std::to_string(member.number)},
                        {"KEDGE_TASKS", std::to_string(tasks.total)},
                        {"KEDGE_ITEM", item}});
  const std::vector<char*> args = pointers_to(words);
  const std::vector<char*> pointers = pointers_to(variables);
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorKind::Io, fmt::format("cannot start a task: {}", std::strerror(errno)));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(output.write.get(), STDOUT_FILENO);
    ::dup2(output.write.get(), STDERR_FILENO);
    ::execve(args.front(), args.data(), pointers.data());
    ::_exit(126);
  }
  member.process = child;
  member.reader = std::thread([from = std::move(output.read), number = member.number, &printing] {
    read_lines(from, number, printing);
  });
  return {};
}

void look_for_ends(std::list<RunningTask>& members) {
  for (RunningTask& member : members) {
    int status = 0;
    if (!member.has_ended && ::waitpid(member.process, &status, WNOHANG) == member.process) {
      member.has_ended = true;
      member.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

void pass_on(const std::list<RunningTask>& members, int number) {
  for (const RunningTask& member : members) {
    if (!member.has_ended) {
      ::kill(member.process, number);
    }
  }
}

// Until all have ended. The signals are blocked, so that none is lost.
void wait_for_all(std::list<RunningTask>& members, const sigset_t& signals) {
  const timespec look_every{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (std::ranges::any_of(members, [](const RunningTask& m) { return !m.has_ended; })) {
    const int number = ::sigtimedwait(&signals, nullptr, &look_every);
    if (std::ranges::find(kPassedOn, number) != kPassedOn.end()) {
      pass_on(members, number);
    }
    look_for_ends(members);
  }
  for (RunningTask& member : members) {
    member.reader.join();
  }
}

}  // namespace

Result<JobSpec> share_gpus(JobSpec spec) {
  const std::int64_t count = spec.per_gpu;
  if (count == 1) {
    return spec;
  }
  if (!spec.is_array() || spec.wants.gpus == 0) {
    return fail(ErrorKind::Usage,
                fmt::format("--per-gpu {} is for arrays and sweeps whose jobs have a GPU", count),
                "job.gpus=1, and several tasks (--tasks, --in, --from, --matching)");
  }
  if (spec.wants.resumable && !spec.is_kedge) {
    return fail(ErrorKind::Usage,
                "--per-gpu: a task that has ended would begin anew when the others go on",
                "leave out job.resumable or --per-gpu");
  }
  std::vector<std::string> items;
  for (std::size_t i = 0; i < spec.items.size(); ++i) {
    if (spec.items[i].find('\t') != std::string::npos) {
      return fail(ErrorKind::Usage,
                  fmt::format("--per-gpu: item '{}' has a tab in it", spec.items[i]));
    }
    if (i % static_cast<std::size_t>(count) == 0) {
      items.push_back(spec.items[i]);
    } else {
      items.back() += "\t" + spec.items[i];
    }
  }
  spec.shared = spec.tasks;
  spec.tasks = (spec.tasks + count - 1) / count;
  spec.items = std::move(items);
  return spec;
}

int join_exit_codes(const std::vector<int>& codes) {
  int joined = kExitDone;
  for (const int code : codes) {
    const bool is_failed = code != kExitDone && code != kExitRunMeAgain;
    const bool has_failed = joined != kExitDone && joined != kExitRunMeAgain;
    if (is_failed ? !has_failed || code > joined : !has_failed && code != kExitDone) {
      joined = code;
    }
  }
  return joined;
}

Result<int> run_shared(const SharedTasks& tasks, const Path& kedge) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGCHLD);
  for (const int number : kPassedOn) {
    ::sigaddset(&signals, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const std::vector<std::string> items = split_items(variable("KEDGE_ITEM"));
  const std::int64_t first =
      std::strtoll(variable("KEDGE_TASK").c_str(), nullptr, 10) * tasks.count;
  const std::int64_t end = std::min(first + tasks.count, tasks.total);
  std::mutex printing;
  std::list<RunningTask> members;  // threads refer to them
  Result<void> started;
  for (std::int64_t number = first; started && number < end; ++number) {
    const auto index = static_cast<std::size_t>(number - first);
    members.push_back({.number = number});
    started =
        start(members.back(), tasks, index < items.size() ? items[index] : "", kedge, printing);
  }
  if (!started) {
    members.pop_back();
    pass_on(members, SIGTERM);
  }
  wait_for_all(members, signals);
  if (!started) {
    return std::unexpected(started.error());
  }
  std::vector<int> codes;
  for (const RunningTask& member : members) {
    codes.push_back(member.exit_code);
  }
  return join_exit_codes(codes);
}

}  // namespace kedge::jobs
