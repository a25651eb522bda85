// Agents on this machine, and what a sweep may cost before it begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/supervise.h"

namespace kedge::sweep {

// Runs so many agents to their end: `words` is their command, `kedge agent ...`. The exit code: 0
// when all ended well, 85 when they were asked to stop, else the worst.
Result<int> run_local_agents(const std::vector<std::string>& words, std::int64_t count,
                             const HeldSignals& signals);

struct UsualTime {
  double median_s = 0;
  std::size_t runs = 0;  // that it was taken from
};

// What finished runs of a project took; nothing where there are none.
std::optional<UsualTime> find_usual_time(const Path& runs, const std::string& project);

}  // namespace kedge::sweep
