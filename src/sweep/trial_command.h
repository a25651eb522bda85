// The command of a trial: W&B's macros filled in, and the variables that bring the swept values to
// any program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "search/sweep_plan.h"
#include "sweep/sweep.h"

namespace kedge::sweep {

struct TrialCommand {
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> variables;
};

// The kedge config that every trial trains: the program, or what a command like
// [kedge, train, config.yaml, "${args}"] names, as it stands there. Empty: trials run another
// program.
Path find_trained_config(const std::string& program, const search::SweepPlan& plan);

// Writes values.json and the like into the trial's folder. `kedge` is this program: it trains
// configs and watches over other programs.
Result<TrialCommand> make_trial_command(const Sweep& sweep, const TrialView& view,
                                        const Path& kedge);

// --lr=0.1 --net.depth=2; values as Python prints them, which W&B's scripts expect.
std::vector<std::string> make_args(const nlohmann::json& values);

// lr=0.1 net.depth=2, for people.
std::vector<std::string> make_words(const nlohmann::json& values);

// `words` with its macros filled in: ${args} becomes many words.
Result<std::vector<std::string>> expand_macros(const std::vector<std::string>& words,
                                               const std::string& program,
                                               const nlohmann::json& values, const Path& json_file);

}  // namespace kedge::sweep
