// Names that a key may have, where the plug-ins of a room above this one are meant: the room
// registers them, and a name that is none of them is an error at its place in the file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace kedge::config {

struct PluginNames {
  using List = std::function<std::vector<std::string>()>;

  // One static object a key: `const PluginNames kNames("job.scheduler", list);`
  PluginNames(std::string_view key, List list);
};

// Nothing is wrong with a key whose names no room of this program registers.
Result<void> check_plugin_name(std::string_view key, const std::string& name);

}  // namespace kedge::config
