#include "jobs/local/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "jobs/in_container.h"
#include "jobs/internal/unix_time.h"
#include "jobs/job_script.h"
#include "jobs/local/slots.h"
#include "jobs/local/task_process.h"
#include "jobs/secrets.h"
#include "jobs/shell_text.h"

namespace kedge::jobs::local {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);
// What Slurm calls KillWait: from the request to stop to the end.
constexpr std::int64_t kKillWait_s = 30;
constexpr std::int64_t kQuickRunsMax = 20;  // in a row, that stop at once and ask for another

Path lock_path(const Path& folder, std::int64_t submission) {
  return folder / fmt::format("local-{}.lock", submission);
}

// Ranks on this machine. One that fails takes the others with it; of those that saved, none does.
constexpr std::string_view kManyRanks = R"sh(
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((10240 + ($$ * 7 + KEDGE_RESTARTS) % 20000))
export WORLD_SIZE={0} LOCAL_WORLD_SIZE={0} GROUP_RANK=0
for ((rank = 0; rank < {0}; rank++)); do
  RANK=$rank LOCAL_RANK=$rank {1} &
done
trap 'kill -TERM $(jobs -p) 2>/dev/null' TERM
code=0
while [ -n "$(jobs -pr)" ]; do
  wait -n
  ended=$?
  ((ended <= code)) || code=$ended
  ((ended == 0 || ended == 85)) || kill -TERM $(jobs -pr) 2>/dev/null
done
exit "$code"
)sh";

struct Task {
  TaskStatus status;
  std::optional<TaskProcess> process = {};
  Slots slots = {};
  std::int64_t failures = 0;
  std::int64_t quick_runs = 0;
  std::int64_t stop_s = 0;  // when it was told to stop; 0: not yet
  std::int64_t end_s = 0;   // of its time; 0: no limit
  bool is_over_time = false;
};

// The tasks of a submission, each from waiting to its end.
class Supervisor {
 public:
  Supervisor(JobRecord record, const Submission& submission)
      : record_(std::move(record)),
        submission_(submission),
        machine_(Machine::of_this_host()),
        queue_(machine_) {
    for (std::int64_t number = 0; number < record_.spec.task_count(); ++number) {
      if (submission.tasks.empty() ||
          std::ranges::find(submission.tasks, number) != submission.tasks.end()) {
        Task task;
        task.status = {.task = number, .submitted_s = now_s()};
        tasks_.push_back(std::move(task));
      }
    }
  }

  Result<void> run(const std::function<void()>& on_ready) {
    KEDGE_TRY(write());
    on_ready();
    bool is_told = true;
    while (!is_told || !has_ended()) {
      is_told = !look() && is_told;
      if (has_ended()) {  // who waits for the end finds no secrets any more
        remove_secrets(record_.folder, submission_.number);
      }
      // A disk that is full must not end the tasks: it is tried again.
      is_told = is_told || write().has_value();
      wait_for_child(kLookEvery);
    }
    return {};
  }

 private:
  bool has_ended() const {
    return std::ranges::all_of(tasks_, [](const Task& t) { return is_final(t.status.state); });
  }

  // True when something has changed.
  bool look() {
    bool has_changed = false;
    for (Task& task : tasks_) {
      if (is_cancelled(task.status.task)) {
        has_changed = cancel(task) || has_changed;
      }
      if (!task.process) {
        continue;
      }
      keep_to_limit(task);
      if (const auto ended = task.process->find_end()) {
        end(task, *ended);
        has_changed = true;
      }
    }
    return start_next() || has_changed;
  }

  bool start_next() {
    const auto next = std::ranges::find_if(tasks_, [](const Task& task) {
      return task.status.state == TaskState::Waiting && !task.process;
    });
    const std::int64_t running =
        std::ranges::count_if(tasks_, [](const Task& task) { return task.process.has_value(); });
    const std::int64_t at_once = record_.spec.wants.at_once;
    if (next == tasks_.end() || (at_once > 0 && running >= at_once)) {
      return false;
    }
    if (!may_start()) {
      return is_final(next->status.state);
    }
    const config::JobConfig& wants = record_.spec.wants;
    auto slots = queue_.take(wants.cpus * wants.ranks, wants.gpus);
    if (!slots) {
      fail_all(slots.error().message);
      return true;
    }
    return *slots && start(*next, std::move(**slots));
  }

  bool start(Task& task, Slots slots) {
    const double limit_s = record_.spec.wants.time.value;
    task.stop_s = 0;
    task.is_over_time = false;
    task.end_s = limit_s > 0 ? now_s() + static_cast<std::int64_t>(limit_s) : 0;
    std::vector<std::pair<std::string, std::string>> variables = {
        {"KEDGE_TASK", std::to_string(task.status.task)},
        {"KEDGE_RESTARTS", std::to_string(task.status.restarts)},
        {"CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(slots.gpus(), ","))}};
    if (task.end_s > 0) {
      variables.emplace_back("KEDGE_JOB_END", std::to_string(task.end_s));
    }
    auto process =
        TaskProcess::start({.script = record_.folder / fmt::format("job-{}.sh", submission_.number),
                            .folder = record_.spec.folder,
                            .output = output_of(task.status.task),
                            .variables = std::move(variables)});
    if (!process) {
      task.status.state = TaskState::Failed;
      task.status.reason = process.error().message;
      return true;
    }
    task.process = *process;
    task.slots = std::move(slots);
    task.status.state = TaskState::Running;
    task.status.started_s = now_s();
    task.status.ended_s = 0;
    task.status.reason.clear();
    task.status.exit_code.reset();
    task.status.usage.cpus = record_.spec.wants.cpus * record_.spec.wants.ranks;
    task.status.usage.gpus = static_cast<std::int64_t>(task.slots.gpus().size());
    task.status.usage.memory_limit_bytes = record_.spec.wants.memory.value;
    task.status.usage.time_limit_s = limit_s;
    return true;
  }

  void end(Task& task, const TaskProcessEnd& ended) {
    task.process.reset();
    task.slots = Slots();
    task.status.ended_s = now_s();
    task.status.exit_code = ended.exit_code;
    const std::int64_t elapsed_s = task.status.ended_s - task.status.started_s;
    task.status.usage.elapsed_s = static_cast<double>(elapsed_s);
    task.status.usage.cpu_s = ended.cpu_s;
    task.status.usage.memory_bytes = ended.memory_bytes;
    if (is_cancelled(task.status.task)) {
      task.status.state = TaskState::Cancelled;
    } else if (ended.exit_code == kExitDone) {
      task.status.state = TaskState::Done;
    } else if (ended.exit_code == kExitRunMeAgain) {
      task.quick_runs = elapsed_s < 60 ? task.quick_runs + 1 : 0;
      run_again(task, task.quick_runs < kQuickRunsMax, "asked to be run again at once, too often");
    } else if (task.is_over_time) {
      task.status.state = TaskState::TimedOut;
    } else {
      task.failures += 1;
      run_again(task, task.failures <= record_.spec.wants.retries,
                fmt::format("exit code {}", ended.exit_code));
    }
  }

  static void run_again(Task& task, bool may, std::string why_not) {
    task.stop_s = 0;
    task.status.state = may ? TaskState::Waiting : TaskState::Failed;
    task.status.reason = may ? "" : std::move(why_not);
    task.status.restarts += may ? 1 : 0;
  }

  bool cancel(Task& task) {
    if (task.process) {
      stop(task);
      return false;
    }
    if (is_final(task.status.state)) {
      return false;
    }
    task.status.state = TaskState::Cancelled;
    return true;
  }

  // First asks, then makes.
  static void stop(Task& task) {
    if (task.stop_s == 0) {
      task.stop_s = now_s();
      task.process->signal(SIGTERM);
    } else if (now_s() - task.stop_s > kKillWait_s) {
      task.process->signal(SIGKILL);
    }
  }

  static void keep_to_limit(Task& task) {
    if (task.end_s > 0 && now_s() >= task.end_s) {
      task.is_over_time = true;
      stop(task);
    }
  }

  // Whether the jobs that this one waits for let it start; ends it when they never will.
  bool may_start() {
    for (const Dependency& dependency : record_.spec.after) {
      const JobBook book(record_.folder.parent_path());
      const auto other = book.read(dependency.key);
      if (!other) {
        fail_all(fmt::format("it waits for job {}, which is gone", dependency.key));
        return false;
      }
      const auto statuses = read_statuses(other->folder, other->last().number);
      const bool is_over = statuses && std::ranges::all_of(*statuses, [](const TaskStatus& s) {
                             return is_final(s.state);
                           });
      if (!is_over) {
        return false;
      }
      const bool is_ok = std::ranges::all_of(
          *statuses, [](const TaskStatus& s) { return s.state == TaskState::Done; });
      if ((dependency.after == After::Ok && !is_ok) ||
          (dependency.after == After::Failed && is_ok)) {
        for (Task& task : tasks_) {
          task.status.state = TaskState::Cancelled;
          task.status.reason =
              fmt::format("job {} {}", dependency.key, is_ok ? "did not fail" : "did not end well");
        }
        return false;
      }
    }
    record_.spec.after.clear();  // what has ended stays so
    return true;
  }

  void fail_all(const std::string& why) {
    for (Task& task : tasks_) {
      if (!task.process && !is_final(task.status.state)) {
        task.status.state = TaskState::Failed;
        task.status.reason = why;
      }
    }
  }

  Path output_of(std::int64_t task) const {
    std::string name = submission_.output;
    const auto fill = [&](std::string_view from, const std::string& to) {
      for (std::size_t at = name.find(from); at != std::string::npos;
           at = name.find(from, at + to.size())) {
        name.replace(at, from.size(), to);
      }
    };
    fill("{task}", std::to_string(task));
    fill("{job}", record_.key);
    fill("{node}", record_.host);
    return name;
  }

  bool is_cancelled(std::int64_t task) const {
    std::error_code ignored;
    return std::filesystem::exists(record_.folder / "cancelled", ignored) ||
           std::filesystem::exists(record_.folder / fmt::format("cancelled-{}", task), ignored);
  }

  Result<void> write() const {
    nlohmann::json json = nlohmann::json::array();
    for (const Task& task : tasks_) {
      json.push_back(to_json(task.status));
    }
    return write_file_atomic(status_file(record_.folder, submission_.number), json.dump() + "\n");
  }

  JobRecord record_;
  Submission submission_;
  Machine machine_;
  SlotQueue queue_;
  std::vector<Task> tasks_;
};

}  // namespace

Path status_file(const Path& folder, std::int64_t submission) {
  return folder / fmt::format("local-{}.json", submission);
}

Result<std::vector<TaskStatus>> read_statuses(const Path& folder, std::int64_t submission) {
  const Path path = status_file(folder, submission);
  const auto json = nlohmann::json::parse(KEDGE_TRY(read_file(path)), nullptr, false);
  if (!json.is_array()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not a list of tasks", path.string()));
  }
  std::vector<TaskStatus> statuses;
  for (const auto& entry : json) {
    statuses.push_back(status_from_json(entry));
  }
  return statuses;
}

bool is_supervised(const Path& folder, std::int64_t submission) {
  const OwnedFd fd(::open(lock_path(folder, submission).c_str(), O_RDWR | O_CLOEXEC));
  return fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

Result<void> supervise_submission(const Path& folder, std::int64_t submission,
                                  const std::function<void()>& on_ready) {
  const Path path = lock_path(folder, submission);
  const OwnedFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.get() < 0) {
    return std::unexpected(io_error("cannot open", path, errno));
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorKind::Usage, "another process supervises this submission");
  }
  // What the submitter had open, its lock among it: from here on ours says that the job is there.
  if (lock.get() > STDERR_FILENO + 1) {
    ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(lock.get()) - 1, 0);
  }
  ::close_range(static_cast<unsigned>(lock.get()) + 1, ~0U, 0);
  JobRecord record = KEDGE_TRY(JobBook(folder.parent_path()).read(folder.filename().string()));
  const auto found = std::ranges::find(record.submissions, submission, &Submission::number);
  if (found == record.submissions.end()) {
    return fail(ErrorKind::NotFound,
                fmt::format("job {} has no submission {}", record.key, submission));
  }
  std::error_code error;
  if (std::filesystem::exists(status_file(folder, submission), error)) {
    return fail(ErrorKind::Usage, "this submission was run before");
  }
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const Submission copy = *found;
  const auto run = Supervisor(std::move(record), copy).run(on_ready);
  remove_secrets(folder, submission);
  return run;
}

std::string render_script(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text = "#!/bin/bash\n" + render_surroundings(spec, place);
  if (!spec.items.empty()) {
    text += fmt::format("export KEDGE_ITEM=$(sed -n \"$((KEDGE_TASK + 1))p\" {})\n",
                        quote_for_shell((place.folder / "items").string()));
  }
  std::vector<std::string> words = task_words(spec, place);
  if (!spec.wants.container.empty()) {
    words = in_container(spec, place, std::move(words));
  }
  const std::string command = join_for_shell(words);
  if (spec.wants.ranks == 1) {
    return text + "exec " + command + "\n";
  }
  return text + fmt::format(kManyRanks, spec.wants.ranks, command);
}

}  // namespace kedge::jobs::local
