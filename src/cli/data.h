// The verbs under `kedge data` that have files of their own.
#pragma once

#include "cli/verbs.h"
#include "core/result.h"

namespace kedge::cli {

Result<void> tokenize_data(Args args);

}  // namespace kedge::cli
