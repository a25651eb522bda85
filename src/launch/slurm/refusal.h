// What Slurm's programs say when they refuse, as errors with something to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/process.h"
#include "core/result.h"

namespace kedge::launch::slurm {

// Unavailable when the controller could not be reached, so that nobody knows whether it heard us;
// else Usage.
Error explain_refusal(std::string_view program, const ProcessResult& answer);

// One number a line; others are passed over.
std::vector<std::int64_t> parse_counts(std::string_view text);

}  // namespace kedge::launch::slurm
