// The verbs of `kedge runs` that have a file of their own.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"

namespace kedge::cli {

inline constexpr Flag kRunsDirFlag{"--dir", "DIR", "the folder of runs (runs)"};

inline constexpr Flag kRunProjectFlag{"--project", "P", "only runs of this project"};
inline constexpr Flag kRunFilterFlag{"--filter", "QUERY", "only these: docs/reference/query.md"};

// "2026-11-15T06:44:35Z"; empty where the run has no such time.
std::string time_of(const nlohmann::json& run, const char* key);

Result<void> list_runs(Args args);
Result<void> show_run(Args args);
Result<void> compare_runs(Args args);
Result<void> tag_run(Args args);
Result<void> remove_runs(Args args);
Result<void> restore_runs(Args args);
Result<void> export_run(Args args);
Result<void> import_runs(Args args);

}  // namespace kedge::cli
