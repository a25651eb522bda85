#include "config/plugin_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest.h"

namespace kedge::config {
namespace {

std::map<std::string_view, PluginNames::List>& all_names() {
  static std::map<std::string_view, PluginNames::List> map;
  return map;
}

}  // namespace

PluginNames::PluginNames(std::string_view key, List list) {
  all_names().emplace(key, std::move(list));
}

Result<void> check_plugin_name(std::string_view key, const std::string& name) {
  const auto found = all_names().find(key);
  const std::vector<std::string> names =
      found == all_names().end() ? std::vector{name} : found->second();
  if (std::ranges::find(names, name) != names.end()) {
    return {};
  }
  const std::string nearest = nearest_name(name, names);
  return fail(ErrorKind::Usage,
              fmt::format("expected one of {}, found '{}'{}", fmt::join(names, ", "), name,
                          nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

}  // namespace kedge::config
