// `kedge logs`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/jobs.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/signals.h"
#include "jobs/job_logs.h"
#include "jobs/submit.h"

namespace kedge::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(300);
constexpr int kLooksPerState = 5;  // asking a scheduler costs more than reading a file

const VerbHelp kLogsHelp = {
    .usage = "kedge logs [JOB[.TASK]] [options]",
    .text =
        "What a job has printed (the newest, where none is named), over all its tasks and nodes, "
        "in the order\nof time. Each line begins with time and host, and in an array with the "
        "task.",
    .flags = {{"-f", "", "stay, and print on until the job has ended"},
              {"--tail", "N", "only the last N lines"},
              {"--paths", "", "print the names of the files instead"},
              kBookFlag}};

void print_lines(const std::vector<jobs::LogLine>& lines, std::size_t begin, bool is_array) {
  for (std::size_t i = begin; i < lines.size(); ++i) {
    if (is_array) {
      fmt::print("{:>3}| {}\n", lines[i].task, lines[i].text);
    } else {
      fmt::print("{}\n", lines[i].text);
    }
  }
  std::fflush(stdout);
}

bool has_ended(const jobs::JobBook& book, const std::string& key) {
  const auto record = book.read(key);
  if (!record) {
    return true;
  }
  const auto views = jobs::look_at_jobs(book, {*record});
  return views.front().problem.empty() &&
         std::ranges::all_of(views.front().tasks, [](const jobs::TaskStatus& task) {
           return jobs::is_final(task.state);
         });
}

void follow(const jobs::JobBook& book, const NamedJob& job, jobs::LogReader& reader) {
  const StopSignals signals;
  const bool is_array = job.record.spec.is_array();
  for (int look = 0; !signals.requested(); ++look) {
    const bool is_over = look % kLooksPerState == 0 && has_ended(book, job.record.key);
    print_lines(reader.read(is_over), 0, is_array);
    if (is_over) {
      return;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

Result<int> logs(const Arguments& arguments) {
  const jobs::JobBook book = open_book(arguments);
  std::vector<NamedJob> jobs = KEDGE_TRY(find_jobs(book, arguments.positionals()));
  if (arguments.positionals().empty()) {
    std::vector<jobs::JobRecord> records = book.read_all();
    if (records.empty()) {
      return fail(ErrorKind::NotFound, "no jobs in " + book.dir().string());
    }
    jobs.push_back({.record = std::move(records.front()), .tasks = {}});
  }
  if (jobs.size() > 1) {
    return fail(ErrorKind::Usage, "one job at a time; KEY.TASK for tasks of it");
  }
  const NamedJob& job = jobs.front();
  if (arguments.has("--paths")) {
    for (const jobs::LogFile& file : jobs::find_logs(job.record, job.tasks)) {
      fmt::print("{}\n", file.path.string());
    }
    return kExitDone;
  }
  jobs::LogReader reader(job.record, job.tasks);
  const bool is_followed = arguments.has("-f");
  const auto lines = reader.read(!is_followed);
  const auto tail = static_cast<std::size_t>(KEDGE_TRY(arguments.number("--tail", 0)));
  print_lines(lines, tail > 0 && lines.size() > tail ? lines.size() - tail : 0,
              job.record.spec.is_array());
  if (is_followed) {
    follow(book, job, reader);
  } else if (lines.empty()) {
    say("kedge: job {} has printed nothing yet", job.record.key);
  }
  return kExitDone;
}

}  // namespace

int run_logs(Args args) {
  const auto arguments = parse_or_help(args, kLogsHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto exit_code = logs(**arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace kedge::cli
