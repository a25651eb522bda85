#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/result.h"
#include "core/supervise.h"
#include "sweep/agent.h"
#include "sweep/sweep.h"

namespace kedge::cli {
namespace {

const VerbHelp kAgentHelp = {
    .usage = "kedge agent ID [options]",
    .text =
        "Works on a sweep: takes a trial, runs it, takes the next, until there are no more. "
        "Any number of agents\nmay, on any machine that sees the folder or the server. A trial "
        "whose agent "
        "died is given out again and goes on.",
    .flags = {{"--count", "N", "at most so many trials (no limit)"},
              {"--wait", "", "stay while other agents still work, in case they die"},
              {"--any-code", "", "go on although the program has changed since the sweep was made"},
              {"--runs", "DIR", "the folder of runs, where the sweep is on a server (runs)"},
              kServerFlag,
              kTokenFlag,
              kSweepDirFlag,
              kJsonFlag}};

// A job that was submitted right after its sweep was made may come to a machine whose file system
// does not show it yet, and a server may just be starting again.
constexpr int kLooks = 10;
constexpr std::chrono::milliseconds kBetweenLooks{500};

Result<std::unique_ptr<sweep::Sweep>> open_patiently(const Arguments& arguments) {
  auto sweep = open_sweep_of(arguments);
  for (int look = 1; look < kLooks; ++look) {
    if (sweep || (sweep.error().kind != ErrorKind::NotFound &&
                  sweep.error().kind != ErrorKind::Unavailable)) {
      break;
    }
    if (look == 1) {
      say("kedge: {}; looking for {:.0f} s more", sweep.error().message,
          std::chrono::duration<double>(kBetweenLooks * kLooks).count());
    }
    std::this_thread::sleep_for(kBetweenLooks);
    sweep = open_sweep_of(arguments);
  }
  return sweep;
}

Result<int> work(const Arguments& arguments) {
  const std::int64_t count = KEDGE_TRY(arguments.number("--count", 0));
  if (arguments.has("--count") && count < 1) {
    return fail(ErrorKind::Usage, "--count must be at least 1");
  }
  const HeldSignals signals;
  const auto sweep = KEDGE_TRY(open_patiently(arguments));
  sweep::AgentOptions options;
  if (count > 0) {
    options.count = count;
  }
  options.waits = arguments.has("--wait");
  options.any_code = arguments.has("--any-code");
  options.kedge = own_program();
  options.say = [](std::string_view line) { say("kedge: {}", line); };
  const auto report = KEDGE_TRY(sweep::run_agent(*sweep, options, signals));
  say("kedge: agent ends after {} trials: {}", report.trials, report.end);
  if (arguments.has("--json")) {
    fmt::print(
        "{}\n",
        nlohmann::json{{"trials", report.trials}, {"failed", report.failed}, {"end", report.end}}
            .dump());
  }
  if (report.was_interrupted) {
    return kExitRunMeAgain;
  }
  return report.failed > 0 && report.failed == report.trials ? kExitFailed : kExitDone;
}

}  // namespace

int run_agent(Args args) {
  const auto arguments = parse_or_help(args, kAgentHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto exit_code = work(**arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace kedge::cli
