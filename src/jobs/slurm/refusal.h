// What Slurm's programs say when they refuse, as errors with something to do about it.
#pragma once

#include <string>
#include <string_view>

#include "core/process.h"
#include "core/result.h"

namespace kedge::jobs::slurm {

// What Slurm's programs print when the controller could not be reached, as a regular expression
// without quotes, for batch scripts.
std::string away_pattern();

// Unavailable when the controller could not be reached, so that nobody knows whether it heard us;
// else Usage.
Error explain_refusal(std::string_view program, const ProcessResult& answer);

}  // namespace kedge::jobs::slurm
