// `kedge sweep FILE`, and the way to its other words.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "config/load.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "core/supervise.h"
#include "core/units.h"
#include "search/propose.h"
#include "search/space.h"
#include "search/sweep_plan.h"
#include "sweep/agent.h"
#include "sweep/local_agents.h"
#include "sweep/remote_sweep.h"
#include "sweep/sweep_folder.h"
#include "sweep/trial_command.h"

namespace kedge::cli {
namespace {

const VerbHelp kSweepHelp = {
    .usage =
        "kedge sweep FILE [key=value ...] [options]\n"
        "       kedge sweep ls|show|best|export|stop|pause|resume|cancel|retry|merge ...",
    .text =
        "Makes a sweep and works on it. FILE is a W&B sweep file, a config with a `sweep:` "
        "section, or a CSV\nwith a row per trial. Its state is on a tracking server where there is "
        "one, else in a folder; any number\nof `kedge agent` work on it. key=value changes the "
        "config that every trial trains.",
    .flags = {{"--agents", "N", "agents to start here (1); 0: only make the sweep"},
              {"--config", "FILE", "a kedge config to train with the swept values"},
              {"--program", "FILE", "what to run, where FILE does not say it"},
              {"--metric", "NAME", "the metric, where FILE is a CSV"},
              {"--goal", "G", "maximize or minimize, where FILE is a CSV (minimize)"},
              {"--project", "P", "the project of the runs"},
              {"--runs", "DIR", "the folder of runs (runs)"},
              {"--dir", "DIR", "the folder of sweeps (sweeps)"},
              kServerFlag,
              kTokenFlag,
              {"--reuse", "", "take results of identical trials from other sweeps"},
              {"--data", "PATH", "what results depend on besides, for --reuse; may be repeated"},
              {"--probe", "", "run the first trial alone, and say what all may take"},
              {"--dry-run", "", "say how many runs there would be, and make nothing"},
              kJsonFlag},
    .words = {"ls", "show", "best", "export", "stop", "pause", "resume", "cancel", "retry",
              "merge"}};

Result<sweep::NewSweep> describe_new_sweep(const Arguments& arguments) {
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
  sweep.overrides = arguments.overrides();
  for (const std::string& path : arguments.values("--data")) {
    sweep.data.emplace_back(path);
  }
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

// What the first trial would train. A key that the config does not know, and a value that it does
// not take, are found here and not by twelve trials.
Result<config::LoadedConfig> load_first_trial(const Path& file, const search::SweepPlan& plan,
                                              const std::vector<std::string>& overrides) {
  config::LoadOptions options{.file = file, .overrides = overrides};
  config::read_environment(options);
  const search::Proposals first = KEDGE_TRY(search::propose(plan, {}, 1));
  if (first.values.empty()) {
    return config::load_config(options);
  }
  const nlohmann::json swept = search::flatten(first.values.front());
  for (const std::string& word : overrides) {
    const std::string key = word.substr(word.find_first_not_of('-'));
    if (swept.contains(key.substr(0, key.find('=')))) {
      return fail(ErrorKind::Usage, fmt::format("'{}': the sweep itself varies this key", word));
    }
  }
  options.sweep_values = first.values.front().dump();
  return config::load_config(options);
}

// A config with a `sweep:` section is its own program. A config says itself which project and
// which server its runs belong to.
Result<std::string> complete(sweep::NewSweep& sweep, const search::SweepPlan& plan,
                             const Arguments& arguments) {
  if (sweep.config.empty() && sweep.program.empty() && plan.program.empty() &&
      plan.command.empty() && plan.is_section) {
    sweep.config = sweep.file_name;
  }
  std::string server = server_of(arguments).value_or("");
  const Path config = sweep::find_trained_config(!sweep.config.empty()    ? sweep.config.string()
                                                 : !sweep.program.empty() ? sweep.program
                                                                          : plan.program,
                                                 plan);
  if (config.empty()) {
    if (!sweep.overrides.empty()) {
      return fail(ErrorKind::Usage,
                  fmt::format("'{}': the trials of this sweep train no kedge config",
                              sweep.overrides.front()),
                  "a program's own options are in the sweep file's command");
    }
    return server;
  }
  const auto loaded = KEDGE_TRY(load_first_trial(config, plan, sweep.overrides));
  if (sweep.project.empty() && plan.project.empty()) {
    sweep.project = loaded->run.project;
  }
  server = server.empty() ? loaded->track.server : server;
  const config::DataConfig& data = loaded->data;
  if (sweep.data.empty()) {
    sweep.data = {data.path.empty() ? Path(data.root) / data.name : Path(data.path)};
  }
  return server;
}

// How long they take is only known from one of them: runs of other configs say nothing.
std::string describe_cost(const search::SweepPlan& plan, bool has_probe) {
  const auto count = search::expected_runs(plan);
  if (!count) {
    return "runs without an end (give it a run_cap, or stop it)";
  }
  return fmt::format("{} runs{}", *count,
                     has_probe ? "" : "; --probe runs the first alone and says what all may take");
}

Result<std::unique_ptr<sweep::Sweep>> make_sweep(const Arguments& arguments,
                                                 const sweep::NewSweep& sweep,
                                                 const std::string& server) {
  if (!server.empty()) {
    return KEDGE_TRY(sweep::RemoteSweep::create(KEDGE_TRY(place_of(server, arguments)), sweep));
  }
  return KEDGE_TRY(sweep::SweepFolder::create(arguments.value("--dir", "sweeps"), sweep));
}

std::vector<std::string> agent_words(const Arguments& arguments, const sweep::Sweep& sweep,
                                     const std::string& server) {
  const std::string kedge = own_program().string();
  if (server.empty()) {
    return {kedge, "agent", sweep.place(), "--wait"};
  }
  std::vector<std::string> words = {kedge,
                                    "agent",
                                    sweep.facts().project + "/" + sweep.facts().id,
                                    "--wait",
                                    "--server",
                                    server,
                                    "--dir",
                                    arguments.value("--dir", "sweeps"),
                                    "--runs",
                                    arguments.value("--runs", "runs")};
  if (const std::string file = arguments.value("--token-file"); !file.empty()) {
    words.insert(words.end(), {"--token-file", file});
  }
  return words;
}

// Runs the first trial alone and says what that makes of the whole: it counts, so nothing is lost.
Result<int> probe_sweep(const std::vector<std::string>& words, sweep::Sweep& sweep,
                        std::int64_t agents, const HeldSignals& signals) {
  std::vector<std::string> one = words;
  one.insert(one.end(), {"--count", "1"});
  const int exit_code = KEDGE_TRY(sweep::run_local_agents(one, 1, signals));
  const auto usual_s = sweep::median_seconds(KEDGE_TRY(sweep.read_trials()));
  if (const auto count = search::expected_runs(sweep.plan()); usual_s && count) {
    const auto left = static_cast<double>(*count - 1);
    say("kedge: the first of {} runs took {}: about {} of work left, {} with {} at a time", *count,
        render_seconds({*usual_s}), render_seconds({*usual_s * left}),
        render_seconds({*usual_s * std::ceil(left / static_cast<double>(agents))}), agents);
  }
  return exit_code;
}

Result<int> start(const Arguments& arguments) {
  sweep::NewSweep sweep = KEDGE_TRY(describe_new_sweep(arguments));
  const std::int64_t agents = KEDGE_TRY(arguments.number("--agents", 1));
  const auto plan = KEDGE_TRY(sweep::read_plan(sweep.text, sweep.file_name, sweep.is_table));
  for (const std::string& warning : plan.warnings) {
    warn("{}", warning);
  }
  const std::string server = KEDGE_TRY(complete(sweep, plan, arguments));
  say("kedge: {}", describe_cost(plan, arguments.has("--probe")));
  const auto count = search::expected_runs(plan);
  const nlohmann::json expected = count ? nlohmann::json(*count) : nlohmann::json();
  if (arguments.has("--dry-run")) {
    if (arguments.has("--json")) {
      fmt::print("{}\n", nlohmann::json{{"expected_runs", expected}}.dump());
    }
    return kExitDone;
  }
  // Before any thread: agents get the signals.
  const HeldSignals signals;
  const auto made = KEDGE_TRY(make_sweep(arguments, sweep, server));
  say("kedge: sweep {} ({})", made->facts().id, made->place());
  if (arguments.has("--json")) {
    fmt::print("{}\n",
               nlohmann::json{
                   {"id", made->facts().id}, {"path", made->place()}, {"expected_runs", expected}}
                   .dump());
  } else {
    fmt::print("{}\n", made->facts().id);
  }
  std::fflush(stdout);
  if (agents == 0) {
    say("kedge: work on it with: kedge agent {}{}", made->facts().id,
        server.empty() ? "" : " --server " + server);
    return kExitDone;
  }
  const auto words = agent_words(arguments, *made, server);
  if (arguments.has("--probe")) {
    if (const int exit_code = KEDGE_TRY(probe_sweep(words, *made, agents, signals));
        exit_code != 0) {
      return exit_code;
    }
  }
  return sweep::run_local_agents(words, agents, signals);
}

int run_start(Args args) {
  const auto arguments = parse_or_help(args, kSweepHelp);
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

Result<sweep::RemotePlace> place_of(const std::string& url, const Arguments& arguments) {
  sweep::RemotePlace place;
  place.address = KEDGE_TRY(track::find_server(url, arguments.value("--token-file")));
  place.dir = arguments.value("--dir", "sweeps");
  place.runs = arguments.value("--runs", "runs");
  return place;
}

Result<std::unique_ptr<sweep::Sweep>> open_sweep(const Arguments& arguments,
                                                 const std::string& word) {
  const Path dir = arguments.value("--dir", "sweeps");
  const auto server = server_of(arguments);
  const bool is_here = std::filesystem::exists(dir / word / "sweep.json") ||
                       std::filesystem::exists(Path(word) / "sweep.json");
  if (server && (arguments.has("--server") || !is_here)) {
    return KEDGE_TRY(sweep::RemoteSweep::open(KEDGE_TRY(place_of(*server, arguments)), word));
  }
  return KEDGE_TRY(sweep::SweepFolder::open(word, dir));
}

Result<std::unique_ptr<sweep::Sweep>> open_sweep_of(const Arguments& arguments) {
  if (arguments.positionals().size() != 1) {
    return fail(ErrorKind::Usage, "name one sweep: its id, its name or its folder",
                "`kedge sweep ls` lists them");
  }
  return open_sweep(arguments, arguments.positionals().front());
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
