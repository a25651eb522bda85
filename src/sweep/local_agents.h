// Agents on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/supervise.h"

namespace kedge::sweep {

// Runs so many agents to their end: `words` is their command, `kedge agent ...`. The exit code: 0
// when all ended well, 85 when they were asked to stop, else the worst.
Result<int> run_local_agents(const std::vector<std::string>& words, std::int64_t count,
                             const HeldSignals& signals);

}  // namespace kedge::sweep
