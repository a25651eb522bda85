// The parts of `kedge sweep`.
#pragma once

#include <string>

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "sweep/sweep_folder.h"

namespace kedge::cli {

inline constexpr Flag kSweepDirFlag{"--dir", "DIR", "the folder of sweeps (sweeps)"};

// The one sweep that is named.
Result<sweep::SweepFolder> open_sweep_of(const Arguments& arguments);

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
