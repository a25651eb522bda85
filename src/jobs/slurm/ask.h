// Slurm's programs, called in a way whose answer does not depend on the user's settings.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/process.h"
#include "core/result.h"

namespace kedge::jobs::slurm {

// How long a program may take to answer.
inline constexpr auto kPatience = std::chrono::seconds(60);

// In UTC and the standard form. Errors: Unavailable when the controller is away, Usage when it
// refuses or this machine has no such program.
Result<ProcessResult> ask(std::vector<std::string> command);

}  // namespace kedge::jobs::slurm
