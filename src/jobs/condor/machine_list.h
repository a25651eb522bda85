// What condor_status tells about machines.
#pragma once

#include <string_view>
#include <vector>

#include "jobs/site.h"

namespace kedge::jobs::condor {

// Lines of: name, cores, memory, GPUs, their name, capability and memory, between tabs.
std::vector<SiteMachine> parse_machines(std::string_view text);

}  // namespace kedge::jobs::condor
