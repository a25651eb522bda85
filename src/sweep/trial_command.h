// The command of a trial: W&B's macros filled in, and the variables that bring the swept values to
// any program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"
#include "sweep/sweep.h"

namespace kedge::sweep {

struct TrialCommand {
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> variables;
};

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
