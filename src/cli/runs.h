// The verbs of `kedge runs` that have a file of their own.
#pragma once

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"

namespace kedge::cli {

inline constexpr Flag kRunsDirFlag{"--dir", "DIR", "the folder of runs (runs)"};

Result<void> list_server_runs(const std::string& url, const Arguments& arguments);
Result<void> show_run(Args args);
Result<void> compare_runs(Args args);
Result<void> tag_run(Args args);
Result<void> remove_runs(Args args);
Result<void> restore_runs(Args args);
Result<void> export_run(Args args);
Result<void> import_runs(Args args);

}  // namespace kedge::cli
