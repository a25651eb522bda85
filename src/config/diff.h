// What changed between two configs, value by value.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "core/result.h"

namespace kedge::config {

struct Change {
  std::string key;
  std::string before;  // as YAML
  std::string after;
};

// `before` is an effective config as render_effective() wrote it, perhaps by an older kedge: keys
// it does not have are not changes when they have their default now.
Result<std::vector<Change>> find_changes(const std::string& before, const LoadedConfig& after);

}  // namespace kedge::config
