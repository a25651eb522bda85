// Which code a sweep runs, and results of the same values and the same code in other sweeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "sweep/sweep_folder.h"

namespace kedge::sweep {

// Of the program's file, the command, and the files in `folder` that the command names.
std::string digest_program(const Path& folder, const std::string& program,
                           const std::vector<std::string>& command);

// The same of a sweep's program as it is now.
std::string code_of(const SweepFolder& folder);

// A finished trial of another sweep in the same place, with the same code and the same values.
std::optional<TrialResult> find_identical(const SweepFolder& folder, const nlohmann::json& values);

}  // namespace kedge::sweep
