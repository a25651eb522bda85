#include "jobs/task_run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "core/file.h"
#include "core/host_name.h"
#include "core/inside_job.h"
#include "core/log.h"
#include "core/time_text.h"
#include "jobs/secrets.h"
#include "jobs/time_limit.h"

namespace kedge::jobs {
namespace {

using SystemClock = std::chrono::system_clock;

constexpr double kUsualGrace_s = 120;
constexpr int kExitTimeLimit = 124;  // as timeout(1) says it

std::string find(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

// Nothing: it was not started by a scheduler, or what that says makes no sense.
std::optional<JobStep> step_of(const Variables& variables) {
  const auto step = find_job_step([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
  return step ? *step : std::nullopt;
}

std::string host_of(const Variables& variables) {
  const auto step = step_of(variables);
  std::string host = step ? step->node_name : "";  // which need not be the host's own
  if (host.empty()) {
    host = host_name();
    host.erase(std::min(host.find('.'), host.size()));
  }
  return step && step->rank && step->tasks > 1 ? fmt::format("{}:{}", host, *step->rank) : host;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             SystemClock::now().time_since_epoch())
      .count();
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The earlier of our own limit and, for programs that know of none, the scheduler's.
std::optional<SystemClock::time_point> stop_time(const TaskRun& task) {
  std::optional<SystemClock::time_point> stop;
  const auto after = [](double seconds) {
    return std::chrono::duration_cast<SystemClock::duration>(
        std::chrono::duration<double>(seconds));
  };
  if (task.limit.value > 0) {
    stop = SystemClock::now() + after(task.limit.value);
  }
  if (!task.is_resumable) {
    return stop;
  }
  if (const auto limit = find_time_limit()) {
    const double grace_s = task.grace.value > 0 ? task.grace.value : kUsualGrace_s;
    const auto end = limit->end - after(grace_s);
    stop = stop ? std::min(*stop, end) : end;
  }
  return stop;
}

std::chrono::milliseconds patience_of(const TaskRun& task) {
  const double grace_s = task.grace.value > 0 ? task.grace.value : kUsualGrace_s;
  return std::chrono::milliseconds(static_cast<std::int64_t>(grace_s * 500));
}

// Several tasks are started by another `kedge task`, which fills in the words of each.
std::vector<std::string> words_of(const TaskRun& task, const Variables& variables) {
  if (task.share == 0) {
    return fill_in(task.command, variables);
  }
  std::error_code error;
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe", error).string(),
                                    "task",
                                    "--each",
                                    std::to_string(task.share),
                                    "--of",
                                    std::to_string(task.total),
                                    "--"};
  words.insert(words.end(), task.command.begin(), task.command.end());
  return words;
}

// A disk that is full must not keep the program from running.
void print_stamped(std::string_view host, std::string_view line) {
  const std::string text = stamp_line(now_ms(), host, line) + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (count < 0 && errno != EINTR) {
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
}

}  // namespace

std::vector<std::string> fill_in(std::vector<std::string> words, const Variables& variables) {
  for (std::string& word : words) {
    replace_all(word, "{task}", find(variables, "KEDGE_TASK"));
    replace_all(word, "{dir}", find(variables, "KEDGE_JOB_DIR"));
    replace_all(word, "{item}", find(variables, "KEDGE_ITEM"));
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> rank_variables(const Variables& variables) {
  const auto step = step_of(variables);
  if (!step || !step->rank || step->tasks < 2 || variables.contains("RANK")) {
    return {};
  }
  return {{"RANK", std::to_string(*step->rank)},
          {"WORLD_SIZE", std::to_string(step->tasks)},
          {"LOCAL_RANK", std::to_string(step->local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(step->local_tasks)},
          {"GROUP_RANK", std::to_string(step->node)}};
}

std::string stamp_line(std::int64_t now_ms, std::string_view host, std::string_view line) {
  return fmt::format("{} {} {}", render_time_ms(now_ms), host, line);
}

Result<int> run_task(const TaskRun& task, const HeldSignals& signals) {
  const Variables variables = JobEnvironment::of_this_process().variables;
  const auto secrets = find_secrets();
  const std::string host = host_of(variables);
  Program program{.args = words_of(task, variables),
                  .variables = rank_variables(variables),
                  .on_line = {},
                  .on_start = {},
                  .is_passed_on = !task.is_stamped,
                  .ends_leftovers = true,
                  .stop_at = stop_time(task),
                  .stop_patience = patience_of(task)};
  if (task.is_stamped) {
    program.on_line = [&](std::string_view line) {
      print_stamped(host, hide_secrets(line, secrets));
    };
  }
  const ProgramEnd end = KEDGE_TRY(supervise_to_end(program, signals));
  // A program that was told to stop and ends with 0 has saved, or was done at that very moment:
  // then the next start is short.
  // So has one that a `timeout` of the user's own ended.
  const bool asks_for_more = end.was_signalled || end.exit_code == kExitTimeLimit;
  const bool was_cut_short = end.was_stopped || (task.is_resumable && asks_for_more);
  if (!was_cut_short || end.exit_code == kExitRunMeAgain) {
    return end.exit_code;
  }
  return task.is_resumable ? kExitRunMeAgain : kExitTimeLimit;
}

}  // namespace kedge::jobs
