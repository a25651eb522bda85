#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "store/internal/store_parts.h"
#include "store/store.h"

namespace kedge::store {
namespace {

// Numbers and truths as numbers; nothing for texts.
std::optional<double> number_of(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return *number;
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? 1 : 0;
  }
  return std::nullopt;
}

class FoundEntry final : public FoundRun {
 public:
  FoundEntry(const RunEntry& entry, const RunIndex& index) : entry_(entry), index_(index) {}

  const RunFacts& facts() const override { return entry_.facts; }

  void visit_config(
      const std::function<void(const std::string&, const QueryValue&)>& visit) const override {
    for (const KeyedValue* value : entry_.config_values) {
      visit(index_.config_keys.name(value->key), value->value);
    }
  }

  void visit_summary(
      const std::function<void(const std::string&, const MetricSummary&)>& visit) const override {
    for (const KeyedSummary& metric : entry_.metrics) {
      if (find_value(entry_.summary_values, metric.key) == nullptr) {
        visit(index_.metric_keys.name(metric.key), {.last = metric.last,
                                                    .min = metric.min,
                                                    .max = metric.max,
                                                    .last_step = metric.last_step,
                                                    .count = metric.count,
                                                    .last_us = metric.last_us});
      }
    }
    for (const auto& value : entry_.summary_values) {
      visit_set(*value, visit);
    }
  }

  void visit_labels(
      const std::function<void(const std::string&, std::string_view)>& visit) const override {
    for (const auto& value : entry_.label_values) {
      visit(index_.label_keys.name(value->key), std::get<std::string_view>(value->value));
    }
  }

 private:
  // What was set by hand has the place in time of the metric it stands for.
  void visit_set(const KeyedValue& value,
                 const std::function<void(const std::string&, const MetricSummary&)>& visit) const {
    const auto number = number_of(value.value);
    if (!number) {
      return;
    }
    MetricSummary summary{.last = *number};
    if (const KeyedSummary* metric = entry_.find_metric(value.key)) {
      summary.last_step = metric->last_step;
      summary.last_us = metric->last_us;
      summary.count = metric->count;
    }
    visit(index_.metric_keys.name(value.key), summary);
  }

  const RunEntry& entry_;
  const RunIndex& index_;
};

}  // namespace

Result<std::size_t> Store::scan(const Search& search, std::int64_t now_us,
                                const std::function<void(const FoundRun&)>& visit) const {
  const FoundRuns found = KEDGE_TRY(impl_->index.search(search, now_us));
  for (const EntryPointer& entry : found.runs) {
    visit(FoundEntry(*entry, impl_->index));
  }
  return found.total;
}

Result<void> Store::visit_run(const RunKey& key,
                              const std::function<void(const FoundRun&)>& visit) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  visit(FoundEntry(*entry, impl_->index));
  return {};
}

std::vector<RunKey> Store::find_runs(const std::string& id) const {
  std::vector<RunKey> keys;
  for (const EntryPointer& entry : impl_->index.find_all(id)) {
    keys.push_back({entry->facts.project, entry->facts.id});
  }
  return keys;
}

}  // namespace kedge::store
