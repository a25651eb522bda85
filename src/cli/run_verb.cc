#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/run_metrics.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/result.h"
#include "core/supervise.h"
#include "track/attempt.h"
#include "track/find_run.h"
#include "track/run.h"
#include "track/server_link.h"

namespace kedge::cli {
namespace {

constexpr double kSystemEvery_s = 15;
constexpr std::chrono::milliseconds kPatience{50};

const VerbHelp kRunHelp = {
    .usage = "kedge run [options] -- PROGRAM [ARGS ...]",
    .text =
        "Runs any program as a run of its own: what it prints, how busy the machine was and how it "
        "ended\nare kept. The program notices nothing: its output, its signals and its exit code "
        "are passed on.\n$KEDGE_RUN_ID and $KEDGE_RUN_DIR tell it its run.",
    .flags = {{"--project", "P", "the group of runs it belongs to (default)"},
              {"--name", "N", "what people call the run; made up when not given"},
              {"--id", "ID", "the run's identity ($KEDGE_RUN_ID); one that exists goes on"},
              {"--tag", "T", "a word to find the run by; may be repeated"},
              {"--group", "G", "runs that belong together"},
              {"--dir", "DIR", "the folder of runs (runs)"},
              {"--server", "URL", "also send the run to this tracking server ($KEDGE_SERVER)"},
              {"--parse", "[FILE]",
               "log the metrics in what it prints (loss=0.12, JSON lines), or in this CSV or JSON "
               "lines file that it writes"},
              {"--quiet", "", "do not say where the run is kept"}}};

// A program inside another `kedge run` is a run of its own: the identity there is the outer one's.
std::string id_of(const Arguments& arguments) {
  const char* given = std::getenv("KEDGE_RUN_ID");
  const bool is_inner = std::getenv("KEDGE_RUN_DIR") != nullptr;
  return arguments.value("--id", given != nullptr && !is_inner ? given : "");
}

track::RunStart start_of(const Arguments& arguments, Args command) {
  std::vector<const char*> words;
  for (const std::string& word : command) {
    words.push_back(word.c_str());
  }
  track::RunStart start;
  start.dir = arguments.value("--dir", "runs");
  start.project = arguments.value("--project", "default");
  start.name = arguments.value("--name");
  start.id = id_of(arguments);
  start.tags = arguments.values("--tag");
  start.group = arguments.value("--group");
  start.job_type = "run";
  const char* const server = std::getenv("KEDGE_SERVER");
  start.server = arguments.value("--server", server == nullptr ? "" : server);
  start.environment = track::collect_environment(static_cast<int>(words.size()), words.data());
  return start;
}

Result<std::unique_ptr<track::Run>> open_run(const track::RunStart& start,
                                             const HeldSignals& signals) {
  const auto existing = KEDGE_TRY(track::find_run(
      {.dir = start.dir, .project = start.project, .id = start.id, .config_hash = {}}));
  if (!existing) {
    return track::Run::create(start);
  }
  auto attempt = KEDGE_TRY(
      track::Attempt::take(*existing, {.on_wait = [](std::string_view line) { print_line(line); },
                                       .should_stop = [&] { return signals.has_stop(); }}));
  return track::Run::resume(start, std::move(attempt), {});
}

// A disk that is full must not keep the program from running.
Result<std::unique_ptr<track::Run>> open_run_if_possible(const track::RunStart& start,
                                                         const HeldSignals& signals) {
  auto run = open_run(start, signals);
  if (!run && run.error().kind == ErrorKind::Io) {
    warn("{}; the program runs without being recorded", run.error().message);
    return nullptr;
  }
  return run;
}

track::RunState state_after(int exit_code) {
  if (exit_code == kExitRunMeAgain) {
    return track::RunState::Interrupted;
  }
  return exit_code == kExitDone ? track::RunState::Finished : track::RunState::Failed;
}

using Variables = std::vector<std::pair<std::string, std::string>>;

// So that wandb and mlflow inside the program find the same server. Who has set an address keeps
// it, with their key; a key without an address is for another server, and is not sent to this one.
Variables client_variables(const track::RunStart& start) {
  Variables variables;
  const auto server = track::find_server(start.server, start.token_file);
  if (start.server.empty() || !server) {
    return variables;
  }
  if (std::getenv("WANDB_BASE_URL") == nullptr) {
    variables.emplace_back("WANDB_BASE_URL", server->url);
    // wandb asks for a key of 40 characters even where the server does not.
    variables.emplace_back("WANDB_API_KEY",
                           server->token.empty() ? std::string(40, 'k') : server->token);
  }
  if (std::getenv("MLFLOW_TRACKING_URI") == nullptr) {
    variables.emplace_back("MLFLOW_TRACKING_URI", server->url);
    variables.emplace_back("MLFLOW_TRACKING_TOKEN", server->token);
  }
  return variables;
}

int run_program(Args command, track::Run* run, RunMetrics* metrics, Variables variables,
                const HeldSignals& signals) {
  Program program{.args = {command.begin(), command.end()}};
  program.variables = std::move(variables);
  if (run != nullptr) {
    program.variables.emplace_back("KEDGE_RUN_ID", run->id());
    program.variables.emplace_back("KEDGE_RUN_DIR",
                                   std::filesystem::absolute(run->path()).string());
    // A program that prints faster than the disk takes it is slowed down a little, once; behind a
    // disk that takes nothing it runs on at full speed.
    program.on_line = [run, metrics, patience = kPatience](std::string_view line) mutable {
      if (metrics != nullptr) {
        metrics->see(line);
      }
      patience = run->console(line, patience) ? kPatience : std::chrono::milliseconds(0);
    };
    program.on_start = [&](pid_t child) { run->watch_system(kSystemEvery_s, child); };
  }
  const auto ended = supervise(program, signals);
  int exit_code = ended.value_or(0);
  nlohmann::json summary = nlohmann::json::object();
  if (!ended) {
    report(ended.error());
    summary["error"] = ended.error().message;
    exit_code = ended.error().kind == ErrorKind::NotFound ? kExitNoProgram : kExitCannotStart;
  }
  if (metrics != nullptr) {
    metrics->finish();
  }
  if (run != nullptr) {
    summary["exit_code"] = exit_code;
    run->finish(state_after(exit_code), summary);
  }
  return exit_code;
}

Result<int> run_recorded(const Arguments& arguments, Args command) {
  const HeldSignals signals;
  const track::RunStart start = start_of(arguments, command);
  const auto run = KEDGE_TRY(open_run_if_possible(start, signals));
  if (run != nullptr && !arguments.has("--quiet")) {
    say("kedge: run {} ({})", run->name(), run->path().string());
  }
  std::optional<RunMetrics> metrics;
  if (run != nullptr && arguments.has("--parse")) {
    metrics.emplace(*run, arguments.value("--parse"));
  }
  return run_program(command, run.get(), metrics ? &*metrics : nullptr, client_variables(start),
                     signals);
}

}  // namespace

int run_run(Args args) {
  const auto end = std::ranges::find(args, "--");
  const auto arguments = parse_or_help(Args(args.begin(), end), kRunHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const Args command = end == args.end() ? Args() : Args(end + 1, args.end());
  if (command.empty() || !(*arguments)->positionals().empty() ||
      !(*arguments)->overrides().empty()) {
    return report({ErrorKind::Usage, "run needs a program behind --",
                   "for example: kedge run --project digits -- python train.py --lr 0.1"});
  }
  const auto exit_code = run_recorded(**arguments, command);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace kedge::cli
