// The plug-ins on libtorch's side of the line, by kind, for `kedge list`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kedge::train {

using NamesAndSummaries = std::vector<std::pair<std::string, std::string>>;

// "models", "losses", "optimizers", "schedules"; empty for any other word.
NamesAndSummaries list_plugins(const std::string& kind);

}  // namespace kedge::train
