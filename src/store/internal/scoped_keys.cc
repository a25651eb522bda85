#include "store/internal/scoped_keys.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::store {
namespace {

std::vector<std::string> names_of_keys(const std::set<KeyId>& ids, const KeyTable& keys) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const KeyId id : ids) {
    names.push_back(keys.name(id));
  }
  return names;
}

}  // namespace

bool is_in_scope(const RunFacts& facts, const Search& search) {
  return (search.run.empty() || search.run == facts.id) &&
         (search.projects.empty() ||
          std::ranges::find(search.projects, facts.project) != search.projects.end());
}

bool ScopedKeys::any_run(const std::function<bool(const RunEntry&)>& visit) const {
  for (const auto& block : blocks_) {
    for (const EntryPointer& entry : block->entries) {
      if (entry != nullptr && is_in_scope(entry->facts, search_) && visit(*entry)) {
        return true;
      }
    }
  }
  return false;
}

std::optional<KeyId> ScopedKeys::find_config(std::string_view key) const {
  const auto id = index_.find_config(key);
  return !id || is_everywhere() || any_run([&](const RunEntry& run) {
    return find_value(run.config_values, *id) != nullptr;
  })
             ? id
             : std::nullopt;
}

std::optional<KeyId> ScopedKeys::find_metric(std::string_view key) const {
  const auto id = index_.find_metric(key);
  return !id || is_everywhere() || any_run([&](const RunEntry& run) {
    return run.find_metric(*id) != nullptr || find_value(run.summary_values, *id) != nullptr;
  })
             ? id
             : std::nullopt;
}

std::optional<KeyId> ScopedKeys::find_label(std::string_view key) const {
  const auto id = index_.find_label(key);
  return !id || is_everywhere() || any_run([&](const RunEntry& run) {
    return find_value(run.label_values, *id) != nullptr;
  })
             ? id
             : std::nullopt;
}

std::vector<std::string> ScopedKeys::config_names() const {
  std::set<KeyId> ids;
  any_run([&](const RunEntry& run) {
    for (const KeyedValue* value : run.config_values) {
      ids.insert(value->key);
    }
    return false;
  });
  return names_of_keys(ids, index_.config_keys);
}

std::vector<std::string> ScopedKeys::metric_names() const {
  std::set<KeyId> ids;
  any_run([&](const RunEntry& run) {
    for (const KeyedSummary& metric : run.metrics) {
      ids.insert(metric.key);
    }
    for (const auto& value : run.summary_values) {
      ids.insert(value->key);
    }
    return false;
  });
  return names_of_keys(ids, index_.metric_keys);
}

std::vector<std::string> ScopedKeys::label_names() const {
  std::set<KeyId> ids;
  any_run([&](const RunEntry& run) {
    for (const auto& value : run.label_values) {
      ids.insert(value->key);
    }
    return false;
  });
  return names_of_keys(ids, index_.label_keys);
}

}  // namespace kedge::store
