// The verbs of `kedge runs` that have a file of their own.
#pragma once

#include "cli/verbs.h"
#include "core/result.h"

namespace kedge::cli {

Result<void> export_run(Args args);

}  // namespace kedge::cli
