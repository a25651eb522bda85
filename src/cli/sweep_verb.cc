// `kedge sweep FILE`, and the way to its other words.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "core/units.h"
#include "launch/supervise.h"
#include "search/sweep_plan.h"
#include "sweep/local_agents.h"
#include "sweep/sweep_folder.h"

namespace kedge::cli {
namespace {

const VerbHelp kHelp = {
    .usage =
        "kedge sweep FILE [options]\n"
        "       kedge sweep ls|show|best|export|stop|pause|resume|cancel|retry|merge ...",
    .text =
        "Makes a sweep and works on it. FILE is a W&B sweep file, a config with a `sweep:` "
        "section, or a CSV\nwith a row per trial. Its state is a folder that any number of "
        "`kedge agent` share.",
    .flags = {{"--agents", "N", "agents to start here (1); 0: only make the sweep"},
              {"--config", "FILE", "a kedge config to train with the swept values"},
              {"--program", "FILE", "what to run, where FILE does not say it"},
              {"--metric", "NAME", "the metric, where FILE is a CSV"},
              {"--goal", "G", "maximize or minimize, where FILE is a CSV (minimize)"},
              {"--project", "P", "the project of the runs"},
              {"--runs", "DIR", "the folder of runs (runs)"},
              {"--dir", "DIR", "the folder of sweeps (sweeps)"},
              {"--reuse", "", "take results of identical trials from other sweeps"},
              {"--dry-run", "", "say how many runs there would be, and make nothing"},
              kJsonFlag}};

Result<sweep::NewSweep> describe(const Arguments& arguments) {
  if (arguments.positionals().size() != 1) {
    return fail(ErrorKind::Usage, "sweep needs one file", "for example: kedge sweep sweep.yaml");
  }
  const Path file = arguments.positionals().front();
  sweep::NewSweep sweep;
  sweep.text = KEDGE_TRY(read_file(file));
  sweep.file_name = file.string();
  sweep.is_table = file.extension() == ".csv";
  sweep.config = arguments.value("--config");
  sweep.program = arguments.value("--program");
  sweep.project = arguments.value("--project");
  sweep.runs = arguments.value("--runs", "runs");
  sweep.reuses = arguments.has("--reuse");
  sweep.metric.name = arguments.value("--metric");
  const std::string goal = arguments.value("--goal", "minimize");
  if (goal != "minimize" && goal != "maximize") {
    return fail(ErrorKind::Usage, fmt::format("goal '{}' is neither minimize nor maximize", goal));
  }
  sweep.metric.goal = goal == "maximize" ? search::Goal::Maximize : search::Goal::Minimize;
  if (!sweep.is_table && !sweep.metric.name.empty()) {
    return fail(ErrorKind::Usage, "--metric is for CSV files; a sweep file has its own");
  }
  return sweep;
}

// A config with a `sweep:` section is its own program.
void find_own_config(sweep::NewSweep& sweep, const search::SweepPlan& plan) {
  if (sweep.config.empty() && sweep.program.empty() && plan.program.empty() &&
      plan.command.empty() && plan.is_section) {
    sweep.config = sweep.file_name;
  }
}

std::string describe_cost(const search::SweepPlan& plan, const sweep::NewSweep& sweep,
                          std::int64_t agents) {
  const auto count = search::expected_runs(plan);
  const std::string runs = count ? fmt::format("{} runs", *count)
                                 : "runs without an end (give it a run_cap, or stop it)";
  std::string project = sweep.project.empty() ? plan.project : sweep.project;
  project = project.empty() ? "default" : project;
  const auto usual = sweep::find_usual_time(sweep.runs, project);
  if (!usual) {
    return fmt::format("{}; no finished run of project {} tells how long one takes", runs, project);
  }
  const std::string one = fmt::format("a run of project {} takes {} (median of {})", project,
                                      render_seconds({usual->median_s}), usual->runs);
  if (!count) {
    return fmt::format("{}; {}", runs, one);
  }
  const auto turns = std::ceil(static_cast<double>(*count) /
                               static_cast<double>(std::max<std::int64_t>(agents, 1)));
  return fmt::format("{}; {}: about {} of work, {} with {} at a time", runs, one,
                     render_seconds({usual->median_s * static_cast<double>(*count)}),
                     render_seconds({usual->median_s * turns}), std::max<std::int64_t>(agents, 1));
}

Result<int> start(const Arguments& arguments) {
  sweep::NewSweep sweep = KEDGE_TRY(describe(arguments));
  const std::int64_t agents = KEDGE_TRY(arguments.number("--agents", 1));
  const auto plan = KEDGE_TRY(sweep::read_plan(sweep.text, sweep.file_name, sweep.is_table));
  for (const std::string& warning : plan.warnings) {
    warn("{}", warning);
  }
  find_own_config(sweep, plan);
  say("kedge: {}", describe_cost(plan, sweep, agents));
  if (arguments.has("--dry-run")) {
    return kExitDone;
  }
  // Before any thread: agents get the signals.
  const launch::HeldSignals signals;
  const auto folder =
      KEDGE_TRY(sweep::SweepFolder::create(arguments.value("--dir", "sweeps"), sweep));
  say("kedge: sweep {} ({})", folder.facts().id, folder.path().string());
  if (arguments.has("--json")) {
    const auto count = search::expected_runs(plan);
    nlohmann::json json = {{"id", folder.facts().id}, {"path", folder.path().string()}};
    json["expected_runs"] = count ? nlohmann::json(*count) : nlohmann::json();
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}\n", folder.facts().id);
  }
  std::fflush(stdout);
  if (agents == 0) {
    say("kedge: work on it with: kedge agent {}", folder.facts().id);
    return kExitDone;
  }
  return sweep::run_local_agents(folder, agents, own_program(), signals);
}

int run_start(Args args) {
  const auto arguments = parse_or_help(args, kHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto exit_code = start(**arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace

Path own_program() {
  std::error_code error;
  const Path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? Path("kedge") : path;
}

Result<sweep::SweepFolder> open_sweep_of(const Arguments& arguments) {
  if (arguments.positionals().size() != 1) {
    return fail(ErrorKind::Usage, "name one sweep: its id, its name or its folder",
                "`kedge sweep ls` lists them");
  }
  return sweep::SweepFolder::open(arguments.positionals().front(),
                                  arguments.value("--dir", "sweeps"));
}

int run_sweep(Args args) {
  const std::string word = args.empty() ? "" : args.front();
  const Args rest = args.empty() ? args : args.subspan(1);
  if (word == "ls") {
    return run_sweep_ls(rest);
  }
  if (word == "show") {
    return run_sweep_show(rest);
  }
  if (word == "best") {
    return run_sweep_best(rest);
  }
  if (word == "export") {
    return run_sweep_export(rest);
  }
  if (word == "retry") {
    return run_sweep_retry(rest);
  }
  if (word == "merge") {
    return run_sweep_merge(rest);
  }
  if (word == "stop" || word == "pause" || word == "resume" || word == "cancel") {
    return run_sweep_control(word, rest);
  }
  return run_start(args);
}

}  // namespace kedge::cli
