// The runs in folders here, for the verbs that show and change runs.
#pragma once

#include <memory>

#include "cli/run_source.h"
#include "core/file.h"

namespace kedge::cli {

std::unique_ptr<RunSource> open_run_folders(Path dir);

}  // namespace kedge::cli
