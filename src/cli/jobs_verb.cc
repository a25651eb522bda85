// `kedge jobs`, `kedge cancel` and `kedge retry`.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/jobs.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/shared/text_table.h"
#include "cli/submit.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/signals.h"
#include "core/units.h"
#include "jobs/launcher.h"
#include "jobs/submit.h"
#include "jobs/usage_report.h"

namespace kedge::cli {
namespace {

using jobs::JobView;
using jobs::TaskState;
using jobs::TaskStatus;

constexpr auto kRefresh = std::chrono::milliseconds(2000);
constexpr auto kLocalRefresh = std::chrono::milliseconds(200);  // no daemon is asked

bool is_quick_to_ask(const JobView& view) {
  const auto launcher = jobs::make_launcher(view.record.launcher);
  return launcher && (*launcher)->is_quick_to_ask();
}

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string elapsed_of(const TaskStatus& task) {
  if (task.started_s == 0) {
    return "";
  }
  const std::int64_t end_s = task.ended_s > 0 ? task.ended_s : now_s();
  return render_seconds({static_cast<double>(std::max<std::int64_t>(end_s - task.started_s, 0))});
}

std::string percent(const std::optional<double>& fraction) {
  return fraction ? fmt::format("{:.0f}%", 100 * *fraction) : "";
}

std::string why(const TaskStatus& task) {
  std::string text = task.reason;
  if (task.state == TaskState::Failed && task.exit_code) {
    // As shells say it; 255 is no signal, but what programs end with that are told -1.
    const int signal = *task.exit_code - 128;
    const std::string code = signal > 0 && signal < NSIG
                                 ? fmt::format("signal {}", signal)
                                 : fmt::format("exit code {}", *task.exit_code);
    text = text.empty() || text == "FAILED" || text == code ? code : code + ", " + text;
  }
  if (task.exit_code == kExitRunMeAgain && is_final(task.state)) {
    text += "; saved, `kedge retry` goes on";
  }
  return text == "COMPLETED" || text == "NonZeroExitCode" ? "" : text;
}

// "done 9, running 2, waiting 1"
std::string summary_of_tasks(const std::vector<TaskStatus>& tasks) {
  std::map<TaskState, int> counts;
  for (const TaskStatus& task : tasks) {
    counts[task.state] += 1;
  }
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(state));
  }
  return text;
}

std::vector<std::string> row_of(const JobView& view) {
  const bool is_single = view.tasks.size() == 1;
  const TaskStatus first = view.tasks.empty() ? TaskStatus{} : view.tasks.front();
  std::int64_t restarts = 0;
  for (const TaskStatus& task : view.tasks) {
    restarts += task.restarts;
  }
  std::string reason = is_single ? why(first) : "";
  if (!view.problem.empty()) {
    reason = view.problem;
  }
  return {view.record.key,
          view.record.spec.name,
          view.record.launcher,
          view.record.submissions.empty() ? "" : view.record.last().id,
          is_single ? std::string(name_of(first.state)) : summary_of_tasks(view.tasks),
          is_single ? elapsed_of(first) : "",
          restarts > 0 ? std::to_string(restarts) : "",
          is_single ? first.node : "",
          reason};
}

std::string render_jobs(const std::vector<JobView>& views) {
  std::vector<std::vector<std::string>> rows = {
      {"job", "name", "scheduler", "id", "state", "elapsed", "restarts", "node", "why"}};
  for (const JobView& view : views) {
    rows.push_back(row_of(view));
  }
  return render_table(rows);
}

std::string render_tasks(const JobView& view) {
  std::vector<std::vector<std::string>> rows = {
      {"task", "id", "state", "elapsed", "restarts", "node", "cpu", "memory", "time", "why"}};
  for (const TaskStatus& task : view.tasks) {
    const jobs::Efficiency used = jobs::efficiency_of(task.usage);
    rows.push_back({std::to_string(task.task), task.id, std::string(name_of(task.state)),
                    elapsed_of(task), std::to_string(task.restarts), task.node, percent(used.cpu),
                    percent(used.memory), percent(used.time), why(task)});
  }
  std::string text = render_table(rows);
  for (const std::string& line : jobs::suggest_requests(view.record.spec.wants, view.tasks)) {
    text += "next time: " + line + "\n";
  }
  return text;
}

nlohmann::json view_json(const JobView& view) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const TaskStatus& task : view.tasks) {
    tasks.push_back(to_json(task));
  }
  return {{"job", view.record.key},
          {"name", view.record.spec.name},
          {"scheduler", view.record.launcher},
          {"id", view.record.submissions.empty() ? "" : view.record.last().id},
          {"folder", view.record.folder.string()},
          {"command", view.record.spec.command},
          {"tasks", tasks},
          {"problem", view.problem},
          {"suggestions", jobs::suggest_requests(view.record.spec.wants, view.tasks)}};
}

Result<std::vector<JobView>> look(const Arguments& arguments) {
  const jobs::JobBook book = open_book(arguments);
  std::vector<jobs::JobRecord> records;
  if (arguments.positionals().empty()) {
    records = book.read_all();
    const std::int64_t last = KEDGE_TRY(arguments.number("--last", 0));
    if (last > 0 && std::cmp_less(last, records.size())) {
      records.resize(static_cast<std::size_t>(last));
    }
  }
  for (NamedJob& job : KEDGE_TRY(find_jobs(book, arguments.positionals()))) {
    records.push_back(std::move(job.record));
  }
  return jobs::look_at_jobs(book, std::move(records));
}

std::string render_views(const Arguments& arguments, const std::vector<JobView>& views) {
  std::string text = render_jobs(views);
  for (const JobView& view : views) {
    if (!arguments.positionals().empty() && !view.tasks.empty()) {
      text += "\n" + render_tasks(view);
    }
  }
  return text;
}

bool is_over(const std::vector<JobView>& views) {
  return std::ranges::all_of(views, [](const JobView& view) {
    return std::ranges::all_of(view.tasks, [](const TaskStatus& t) { return is_final(t.state); });
  });
}

bool all_done(const std::vector<JobView>& views) {
  return std::ranges::all_of(views, [](const JobView& view) {
    return std::ranges::all_of(view.tasks,
                               [](const TaskStatus& t) { return t.state == TaskState::Done; });
  });
}

// A held job does not end by itself: who waits silently is told, once.
void tell_held(const std::vector<JobView>& views, std::set<std::string>& told) {
  for (const JobView& view : views) {
    for (const TaskStatus& task : view.tasks) {
      if (task.state == TaskState::Held && told.insert(view.record.key).second) {
        warn("job {} ({}) is held: {}", view.record.key, view.record.spec.name, task.reason);
      }
    }
  }
}

// Until all have ended, or somebody has seen enough.
Result<int> watch(const Arguments& arguments) {
  const StopSignals signals;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  std::string before;
  std::set<std::string> told;
  for (;;) {
    const auto views = KEDGE_TRY(look(arguments));
    if (arguments.has("--wait") && !is_terminal) {
      tell_held(views, told);
    }
    const std::string text = render_views(arguments, views);
    if (is_terminal) {
      fmt::print("\x1b[H\x1b[2J{}", text);
    } else if (text != before && !arguments.has("--wait")) {
      fmt::print("{}\n", text);
    }
    std::fflush(stdout);
    before = text;
    if (is_over(views)) {
      if (arguments.has("--wait") && !is_terminal) {
        fmt::print("{}", text);
      }
      return all_done(views) ? kExitDone : kExitFailed;
    }
    const bool is_quick = std::ranges::all_of(views, is_quick_to_ask);
    for (int i = 0; i < 20 && !signals.requested(); ++i) {
      std::this_thread::sleep_for((is_quick ? kLocalRefresh : kRefresh) / 20);
    }
    if (signals.requested()) {
      return kExitDone;
    }
  }
}

Result<int> jobs(const Arguments& arguments) {
  if (arguments.has("--watch") || arguments.has("--wait")) {
    return watch(arguments);
  }
  const auto views = KEDGE_TRY(look(arguments));
  if (arguments.has("--json")) {
    nlohmann::json all = nlohmann::json::array();
    for (const JobView& view : views) {
      all.push_back(view_json(view));
    }
    print_json(all);
    return kExitDone;
  }
  if (views.empty()) {
    say("kedge: no jobs in {}; `kedge submit` makes some", open_book(arguments).dir().string());
    return kExitDone;
  }
  fmt::print("{}", render_views(arguments, views));
  return kExitDone;
}

Result<int> cancel(const Arguments& arguments) {
  const jobs::JobBook book = open_book(arguments);
  std::vector<NamedJob> jobs = KEDGE_TRY(find_jobs(book, arguments.positionals()));
  if (arguments.has("--all")) {
    for (jobs::JobRecord& record : book.read_all()) {
      if (std::cmp_less(record.ended.size(), record.spec.task_count())) {
        jobs.push_back({.record = std::move(record), .tasks = {}});
      }
    }
  }
  if (jobs.empty() && !arguments.has("--all")) {
    return fail(ErrorKind::Usage, "which jobs? KEY, KEY.TASK, or --all", "`kedge jobs` lists them");
  }
  for (NamedJob& job : jobs) {
    KEDGE_TRY(jobs::cancel_job(book, job.record, job.tasks));
    say("kedge: {}job {} is cancelled",
        job.tasks.empty() ? "" : fmt::format("task {} of ", fmt::join(job.tasks, ", ")),
        job.record.key);
  }
  return kExitDone;
}

bool wants_retry(const TaskStatus& task) {
  return is_final(task.state) && task.state != TaskState::Done;
}

Result<int> retry_tasks(const Arguments& arguments) {
  const jobs::JobBook book = open_book(arguments);
  std::vector<NamedJob> jobs = KEDGE_TRY(find_jobs(book, arguments.positionals()));
  if (jobs.empty() && !arguments.has("--failed")) {
    return fail(ErrorKind::Usage, "which jobs? KEY, KEY.TASK, or --failed for all that failed",
                "`kedge jobs` lists them");
  }
  for (jobs::JobRecord& record : jobs.empty() ? book.read_all() : std::vector<jobs::JobRecord>()) {
    jobs.push_back({.record = std::move(record), .tasks = {}});
  }
  std::int64_t count = 0;
  for (NamedJob& job : jobs) {
    JobView view = jobs::look_at_jobs(book, {job.record}).front();
    if (!view.problem.empty()) {
      return fail(ErrorKind::Unavailable, fmt::format("job {}: {}", job.record.key, view.problem));
    }
    std::vector<std::int64_t> tasks;
    for (const TaskStatus& task : view.tasks) {
      const bool is_named =
          job.tasks.empty() || std::ranges::find(job.tasks, task.task) != job.tasks.end();
      // What a person cancelled runs again only when it is asked for by name.
      const bool is_wanted = task.state != TaskState::Cancelled || !arguments.has("--failed");
      if (is_named && is_wanted && wants_retry(task)) {
        tasks.push_back(task.task);
      }
    }
    if (tasks.empty()) {
      continue;
    }
    const auto launcher = KEDGE_TRY(jobs::make_launcher(view.record.launcher));
    const std::int64_t trials = KEDGE_TRY(reopen_trials(view.record.spec, std::ssize(tasks)));
    if (trials > 0) {
      say("kedge: {} failed trials of its sweep are open again", trials);
    }
    const bool is_all = std::cmp_equal(tasks.size(), view.record.spec.task_count());
    KEDGE_TRY(jobs::submit_again(book, *launcher, view.record,
                                 is_all ? std::vector<std::int64_t>() : tasks, own_program()));
    say("kedge: job {}: {} of {} tasks again, as {} {}", view.record.key, tasks.size(),
        view.record.spec.task_count(), view.record.launcher, view.record.last().id);
    ++count;
  }
  if (count == 0) {
    say("kedge: nothing to retry");
  }
  return kExitDone;
}

int run_with(Args args, const VerbHelp& help, Result<int> (*verb)(const Arguments&)) {
  const auto arguments = parse_or_help(args, help);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto exit_code = verb(**arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace

int run_jobs(Args args) {
  const VerbHelp help = {
      .usage = "kedge jobs [JOB ...] [options]",
      .text =
          "The jobs submitted from here, on any scheduler, with their states. A JOB (its key, the "
          "beginning of it,\nthe scheduler's id, its name) shows its tasks, what they used of what "
          "was asked for, and what to ask\nfor next time.",
      .flags = {{"--watch", "", "stay, and show them again every 2 s until all have ended"},
                {"--wait", "", "stay silent until all have ended; exit code 1 unless all are done"},
                {"--last", "N", "only the newest N"},
                kBookFlag,
                kJsonFlag}};
  return run_with(args, help, jobs);
}

int run_cancel(Args args) {
  const VerbHelp help = {
      .usage = "kedge cancel JOB[.TASK] ... [options]",
      .text =
          "Ends jobs, or single tasks, wherever they run. What is cancelled stays so: a job that "
          "saves and exits\nwith 85 on the way is not run again.",
      .flags = {{"--all", "", "every job of the book that has not ended"}, kBookFlag}};
  return run_with(args, help, cancel);
}

int run_retry(Args args) {
  const VerbHelp help = {
      .usage = "kedge retry JOB[.TASK] ... | --failed [options]",
      .text =
          "Submits again what did not end well: tasks that failed, timed out, were lost or "
          "cancelled, and jobs\nthat never reached the scheduler. Trainings go on where they "
          "were saved.",
      .flags = {{"--failed", "", "of all jobs, or of those named; not what was cancelled"},
                kBookFlag}};
  return run_with(args, help, retry_tasks);
}

}  // namespace kedge::cli
