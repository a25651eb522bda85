// What `kedge list` prints, from both programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kedge::cli {

void print_plugins(const std::vector<std::pair<std::string, std::string>>& plugins, bool as_json);

}  // namespace kedge::cli
