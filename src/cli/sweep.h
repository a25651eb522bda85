// The parts of `kedge sweep`.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/server_calls.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "sweep/remote_sweep.h"
#include "sweep/sweep.h"

namespace kedge::cli {

inline constexpr Flag kSweepDirFlag{"--dir", "DIR", "the folder of sweeps (sweeps)"};

// The one sweep that is named: of --server, of a folder, or of $KEDGE_SERVER.
Result<std::unique_ptr<sweep::Sweep>> open_sweep_of(const Arguments& arguments);
Result<std::unique_ptr<sweep::Sweep>> open_sweep(const Arguments& arguments,
                                                 const std::string& word);

// Where such a sweep is and what it leaves here.
Result<sweep::RemotePlace> place_of(const std::string& url, const Arguments& arguments);

// Parses, opens the sweep and hands both to `act`.
template <typename Act>
int with_sweep(Args args, const VerbHelp& help, Act act) {
  const auto arguments = parse_or_help(args, help);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const auto sweep = open_sweep_of(**arguments);
  if (!sweep) {
    return report(sweep.error());
  }
  const Result<void> done = act(**arguments, **sweep);
  return done ? kExitDone : report(done.error());
}

// A trial as --json shows it.
nlohmann::json trial_json(const sweep::TrialView& view);

int run_sweep_ls(Args args);
int run_sweep_show(Args args);
int run_sweep_best(Args args);
int run_sweep_export(Args args);
int run_sweep_control(const std::string& word, Args args);  // stop, pause, resume, cancel
int run_sweep_retry(Args args);
int run_sweep_merge(Args args);

// This program's own file.
Path own_program();

}  // namespace kedge::cli
