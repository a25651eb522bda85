// Which code a sweep runs, and results of the same values, code and data in other sweeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "sweep/sweep_folder.h"

namespace kedge::sweep {

// Of the program's file, the command, and the files in `folder` that the command names.
std::string digest_program(const Path& folder, const std::string& program,
                           const std::vector<std::string>& command);

// Those files: what may have changed when the digest has.
std::vector<std::string> files_of_program(const Path& folder, const std::string& program,
                                          const std::vector<std::string>& command);

// Of files and folders: all names, and of the first thousand files their size, beginning and end.
// Empty: of nothing.
std::string digest_data(const std::vector<Path>& paths);

// The same of a sweep's program as it is now.
std::string code_of(const Sweep& sweep);

// A finished trial of another sweep in the same place, with the same code, data and values.
std::optional<TrialResult> find_identical(const SweepFolder& folder, const nlohmann::json& values);

}  // namespace kedge::sweep
