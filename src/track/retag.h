// Changes to a run folder that nobody works on any more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

// Replaces the tags in run.json by what `retag` makes of them, and returns those. Usage while a
// process works on the run: it would write its own at the end.
Result<std::vector<std::string>> retag_run(
    const Path& run,
    const std::function<std::vector<std::string>(std::vector<std::string> tags)>& retag);

}  // namespace kedge::track
