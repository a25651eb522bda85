// `kedge submit`: the same job on local processes, Slurm or HTCondor.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/jobs.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/submit.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "jobs/advice.h"
#include "jobs/launcher.h"
#include "jobs/secrets.h"
#include "jobs/shell_text.h"
#include "jobs/submit.h"

namespace kedge::cli {
namespace {

const VerbHelp kSubmitHelp = {
    .usage =
        "kedge submit [CONFIG] [key=value ...] [options]      train a config\n"
        "       kedge submit DAG [job.key=value ...] [options]       steps that wait for each "
        "other\n"
        "       kedge submit SWEEP [job.key=value ...] [options]     a sweep, a task per trial\n"
        "       kedge submit [job.key=value ...] [options] -- PROGRAM [ARGS ...]",
    .text =
        "Hands a job to the scheduler that job.scheduler names: slurm, condor or local processes. "
        "What it\nneeds is the config's `job:` section. {task}, {item} and {dir} in values and "
        "words are those of a\ntask. `kedge jobs`, `logs`, `cancel` and `retry` go on from there.",
    .flags = {{"--dry-run", "", "show exactly what would be submitted, and submit nothing"},
              {"--advise", "", "say whether the work fits, what it needs and how long it takes"},
              {"--probe", "", "first train a few steps here: how long a task will take"},
              {"--test-one", "", "first a small job; the rest starts when it has ended well"},
              {"--scheduler", "S", "short for job.scheduler=S (`kedge list schedulers`)"},
              {"--name", "N", "what to call the job; the config's or the program's otherwise"},
              {"--tasks", "N", "an array of so many tasks, counted from 0"},
              {"--from", "FILE", "an array with a task per line of the file; - is stdin"},
              {"--in", "A,B,C", "an array with a task per item"},
              {"--matching", "GLOB", "an array with a task per file of that name"},
              {"--at-once", "N", "short for job.at_once=N: tasks at the same time; 0: all"},
              {"--per-gpu", "N", "so many small tasks of an array at once on the GPUs of one job"},
              {"--agents", "N", "SWEEP: so many agents that work until it is done"},
              {"--after", "JOB", "start when JOB has ended well; may be repeated"},
              {"--after-any", "JOB", "start when JOB has ended"},
              {"--after-failed", "JOB", "start when JOB has failed"},
              {"--interactive", "", "a shell on a node with what the job would have"},
              {"--config", "FILE", "where the job: section is, for -- PROGRAM and SWEEP"},
              {"--dir", "DIR", "the folder of sweeps (sweeps)"},
              kBookFlag,
              kJsonFlag}};

nlohmann::json rendering_json(const jobs::Rendering& rendering) {
  nlohmann::json files = nlohmann::json::object();
  for (const jobs::RenderedFile& file : rendering.files) {
    files[file.name] = file.text;
  }
  return {{"files", files}, {"command", rendering.command}, {"output", rendering.output}};
}

// Before anything is submitted.
void print_notes(const jobs::JobSpec& spec, const jobs::Rendering& rendering) {
  for (const std::string& note : rendering.notes) {
    warn("{}", note);
  }
  if (const auto trouble = jobs::find_time_trouble(spec)) {
    warn("{}", *trouble);
  }
  tell_kept_back(rendering.secrets);
}

Result<int> show_only(const Arguments& arguments, const jobs::JobBook& book,
                      const jobs::Launcher& launcher, const std::vector<jobs::JobSpec>& specs) {
  nlohmann::json all = nlohmann::json::array();
  for (jobs::JobSpec spec : specs) {
    spec.after.erase(std::remove_if(spec.after.begin(), spec.after.end(),
                                    [](const jobs::Dependency& d) { return d.key == kJobBefore; }),
                     spec.after.end());
    const auto renderings = KEDGE_TRY(jobs::rehearse(book, launcher, spec, own_program()));
    for (const jobs::Rendering& rendering : renderings) {
      if (arguments.has("--json")) {
        all.push_back(rendering_json(rendering));
      } else {
        print_rendering(rendering, book.dir() / "KEY");
      }
    }
    print_notes(spec, renderings.front());
  }
  if (arguments.has("--json")) {
    print_json(all);
  }
  return kExitDone;
}

Result<int> submit_all(const Arguments& arguments, const jobs::JobBook& book,
                       const jobs::Launcher& launcher, std::vector<jobs::JobSpec> specs) {
  nlohmann::json all = nlohmann::json::array();
  std::string before;
  for (jobs::JobSpec& spec : specs) {
    for (jobs::Dependency& dependency : spec.after) {
      dependency.key = dependency.key == kJobBefore ? before : dependency.key;
    }
    const auto rehearsal = KEDGE_TRY(jobs::rehearse(book, launcher, spec, own_program()));
    print_notes(spec, rehearsal.front());
    if (rehearsal.size() > 1) {
      say("kedge: {} tasks are more than this site takes in one array: submitted as {}", spec.tasks,
          rehearsal.size());
    }
    const auto record = KEDGE_TRY(jobs::submit_job(book, launcher, spec, own_program()));
    before = record.key;
    const std::string count = spec.is_array() ? fmt::format(", {} tasks", spec.tasks) : "";
    say("kedge: job {} ({}{}) is {} {}", record.key, spec.name, count, record.launcher,
        record.last().id);
    if (arguments.has("--json")) {
      all.push_back({{"job", record.key},
                     {"name", spec.name},
                     {"scheduler", record.launcher},
                     {"id", record.last().id},
                     {"tasks", spec.task_count()},
                     {"folder", record.folder.string()}});
    } else {
      fmt::print("{}\n", record.key);
    }
  }
  if (arguments.has("--json")) {
    print_json(all);
  }
  return kExitDone;
}

Result<int> become_shell(const jobs::Launcher& launcher, const jobs::JobSpec& spec, bool is_dry) {
  std::vector<std::string> words = KEDGE_TRY(launcher.interactive(spec));
  if (is_dry) {
    fmt::print("{}\n", jobs::join_for_shell(words));
    return kExitDone;
  }
  KEDGE_TRY(launcher.check_here());
  for (const std::string& name : jobs::secrets_kept_back(jobs::secrets_of(spec))) {
    ::unsetenv(name.c_str());
  }
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  return fail(ErrorKind::Unavailable, fmt::format("cannot start {}", words.front()));
}

// Only now that all is known to be sound: a sweep is a folder.
Result<void> make_sweep_to_submit(const Arguments& arguments, Args command,
                                  std::vector<jobs::JobSpec>& specs) {
  const auto& words = arguments.positionals();
  if (command.empty() && !words.empty() && is_sweep(words.front(), arguments)) {
    specs = KEDGE_TRY(specs_to_submit(arguments, command, false));
  }
  return {};
}

Result<int> submit(const Arguments& arguments, Args command) {
  const jobs::JobBook book = open_book(arguments);
  const bool is_dry = arguments.has("--dry-run");
  if (command.empty() && !arguments.positionals().empty() &&
      is_dag(arguments.positionals().front())) {
    return submit_dag(arguments, book);
  }
  std::vector<jobs::JobSpec> specs = KEDGE_TRY(specs_to_submit(arguments, command, true));
  const auto launcher = KEDGE_TRY(jobs::make_launcher(specs.front().wants.scheduler));
  if (arguments.has("--interactive")) {
    return become_shell(*launcher, specs.front(), is_dry);
  }
  const KnownWork known = KEDGE_TRY(estimate_work(arguments, command, book, specs.back()));
  const double estimate_s = known.estimate ? known.estimate->task_s : 0;
  specs.back().estimate_s = estimate_s;
  if (arguments.has("--advise")) {
    return show_advice(arguments, command, *launcher, specs.back(), known);
  }
  if (!is_dry) {
    KEDGE_TRY(launcher->check_here());
    KEDGE_TRY(make_sweep_to_submit(arguments, command, specs));
    specs.back().estimate_s = estimate_s;
  }
  if (specs.size() > 1 && launcher->takes_sets()) {
    return submit_steps(arguments, book, *launcher, as_steps(specs));
  }
  return is_dry ? show_only(arguments, book, *launcher, specs)
                : submit_all(arguments, book, *launcher, specs);
}

}  // namespace

const VerbHelp& submit_help() {
  return kSubmitHelp;
}

void tell_kept_back(const std::vector<std::string>& handed) {
  if (const auto names = jobs::secrets_kept_back(handed); !names.empty()) {
    say("kedge: not handed to the job: {}; job.secrets names what it needs",
        fmt::join(names, ", "));
  }
}

void print_rendering(const jobs::Rendering& rendering, const Path& folder) {
  for (const jobs::RenderedFile& file : rendering.files) {
    fmt::print("# {}\n{}", (folder / file.name).string(), file.text);
    fmt::print("{}\n", file.text.ends_with('\n') ? "" : "\n");
  }
  fmt::print("# submitted by\n{}\n", jobs::join_for_shell(rendering.command));
}

int run_submit(Args args) {
  const auto end = std::ranges::find(args, "--");
  const auto arguments = parse_or_help(Args(args.begin(), end), kSubmitHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const Args command = end == args.end() ? Args() : Args(end + 1, args.end());
  const auto exit_code = submit(**arguments, command);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace kedge::cli
