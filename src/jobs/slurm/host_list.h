// Slurm's short form of many host names: "gpu[01-03,07],login" is gpu01 gpu02 gpu03 gpu07 login.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge::jobs::slurm {

// In their order. An error for brackets that do not close, ranges that run backwards, and lists
// that no cluster has (more than 100,000 names).
Result<std::vector<std::string>> expand_host_list(std::string_view text);

}  // namespace kedge::jobs::slurm
