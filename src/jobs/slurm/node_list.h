// What sinfo tells about nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobs/site.h"

namespace kedge::jobs::slurm {

// The columns for `sinfo -h -N -o`, and what it prints: a line per node and partition.
std::string node_columns();
std::vector<SiteMachine> parse_nodes(std::string_view text);

}  // namespace kedge::jobs::slurm
