#include "cli/shared/plugin_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::cli {

void print_plugins(const std::vector<std::pair<std::string, std::string>>& plugins, bool as_json) {
  if (as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, summary] : plugins) {
      list.push_back({{"name", name}, {"summary", summary}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  std::size_t width = 0;
  for (const auto& [name, summary] : plugins) {
    width = std::max(width, name.size());
  }
  for (const auto& [name, summary] : plugins) {
    fmt::print("{:<{}}  {}\n", name, width, summary);
  }
}

}  // namespace kedge::cli
