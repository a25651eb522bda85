// The names that a project's runs have, counted over the entries in memory: what a page offers as
// columns and completes in a filter.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "store/internal/key_table.h"
#include "store/internal/run_entry.h"
#include "store/internal/store_parts.h"
#include "store/store.h"

namespace kedge::store {
namespace {

constexpr std::size_t kFewValues = 20;
constexpr std::size_t kShortText = 80;

// By the numbers of the keys, which are dense.
using Counts = std::vector<FieldFacts>;

FieldFacts& at(Counts& counts, KeyId key) {
  if (key >= counts.size()) {
    counts.resize(key + 1);
  }
  return counts[key];
}

bool is_short(const QueryValue& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text == nullptr || text->size() <= kShortText;
}

class FieldCount {
 public:
  void add(const RunEntry& entry) {
    ++run_count_;
    for (const KeyedValue* value : entry.config_values) {
      FieldFacts& field = at(config_, value->key);
      ++field.run_count;
      // Equal values of a key are one in the pool.
      if (seen_.insert(value).second && ++field.value_count <= kFewValues &&
          is_short(value->value)) {
        field.values.push_back(render_value(value->value));
      }
    }
    for (const KeyedSummary& metric : entry.metrics) {
      ++at(metrics_, metric.key).run_count;
    }
    for (const auto& value : entry.summary_values) {
      if (entry.find_metric(value->key) == nullptr) {
        ++at(metrics_, value->key).run_count;
      }
    }
    for (const auto& label : entry.label_values) {
      ++at(labels_, label->key).run_count;
    }
    for (const std::string& tag : entry.facts.tags) {
      ++tags_[tag];
    }
  }

  ProjectFields finish(const RunIndex& index) {
    ProjectFields fields{.run_count = run_count_,
                         .config = named(std::move(config_), index.config_keys),
                         .metrics = named(std::move(metrics_), index.metric_keys),
                         .tags = {},
                         .labels = named(std::move(labels_), index.label_keys)};
    for (FieldFacts& field : fields.config) {
      // Some of the values would look like all of them.
      if (field.values.size() != field.value_count) {
        field.values.clear();
      }
    }
    for (const auto& [tag, count] : tags_) {
      fields.tags.push_back({.name = tag, .run_count = count, .values = {}});
    }
    for (auto* list : {&fields.config, &fields.metrics, &fields.tags, &fields.labels}) {
      std::ranges::sort(*list, [](const FieldFacts& a, const FieldFacts& b) {
        return std::tie(b.run_count, a.name) < std::tie(a.run_count, b.name);
      });
    }
    return fields;
  }

 private:
  static std::vector<FieldFacts> named(Counts counts, const KeyTable& keys) {
    std::vector<FieldFacts> fields;
    for (std::size_t key = 0; key < counts.size(); ++key) {
      if (counts[key].run_count > 0) {
        counts[key].name = keys.name(static_cast<KeyId>(key));
        fields.push_back(std::move(counts[key]));
      }
    }
    return fields;
  }

  std::size_t run_count_ = 0;
  Counts config_;
  Counts metrics_;
  Counts labels_;
  std::map<std::string, std::size_t> tags_;
  std::unordered_set<const KeyedValue*> seen_;
};

}  // namespace

ProjectFields Store::list_fields(const std::string& project) const {
  const RunIndex& index = impl_->index;
  FieldCount count;
  for (const auto& block : index.snapshot()) {
    for (const EntryPointer& entry : block->entries) {
      if (entry != nullptr && entry->facts.project == project && entry->facts.deleted_us == 0) {
        count.add(*entry);
      }
    }
  }
  return count.finish(index);
}

}  // namespace kedge::store
