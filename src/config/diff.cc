#include "config/diff.h"

#include "config/value.h"

namespace kedge::config {

Result<std::vector<Change>> find_changes(const std::string& before, const LoadedConfig& after) {
  const LoadedConfig old = KEDGE_TRY(load_config({.text = before}));
  std::vector<Change> changes;
  for (const Field& field : after.fields()) {
    const std::string now = value_as_yaml(field);
    const std::string then = value_as_yaml(*old.find(field.path));
    // Of two keys that mean the same the other one tells; older configs held two values.
    if (then != now && field.same_as.path.empty()) {
      changes.push_back({.key = field.path, .before = then, .after = now});
    }
  }
  return changes;
}

}  // namespace kedge::config
