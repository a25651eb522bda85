#include "store/run_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "store/internal/key_table.h"
#include "store/internal/run_entry.h"
#include "store/internal/run_index.h"
#include "store/internal/run_text.h"
#include "store/query.h"

namespace kedge::store {
namespace {

// Knows no name, and remembers what was asked for.
class AskedKeys final : public QueryKeys {
 public:
  std::optional<KeyId> find_config(std::string_view) const override {
    needs_.config = true;
    return std::nullopt;
  }

  std::optional<KeyId> find_metric(std::string_view) const override {
    needs_.metrics = true;
    return std::nullopt;
  }

  std::optional<KeyId> find_label(std::string_view) const override { return std::nullopt; }

  std::vector<std::string> config_names() const override { return {}; }

  std::vector<std::string> metric_names() const override { return {}; }

  std::vector<std::string> label_names() const override { return {}; }

  SearchNeeds& needs() { return needs_; }

 private:
  mutable SearchNeeds needs_;
};

RunEntry make_entry(ListedRun run, RunIndex& index) {
  RunEntry entry;
  entry.facts = std::move(run.facts);
  entry.config_values = flatten_config(run.config, index.config_keys, index.values);
  entry.summary_values = flatten_summary(run.values, index.metric_keys);
  for (const auto& [name, metric] : run.metrics) {
    entry.metrics.push_back({.key = index.metric_keys.add(name),
                             .last_step = metric.last_step,
                             .count = metric.count,
                             .last = metric.last,
                             .min = metric.min,
                             .max = metric.max,
                             .last_us = metric.last_us});
  }
  std::ranges::sort(entry.metrics, {}, &KeyedSummary::key);
  return entry;
}

}  // namespace

Result<SearchNeeds> find_needs(const Search& search, std::int64_t now_us) {
  AskedKeys keys;
  KEDGE_TRY(RunFilter::compile(search.filter, keys, now_us));
  KEDGE_TRY(RunOrder::compile(search.order, keys));
  for (const std::string& field : search.fields.value_or(std::vector<std::string>())) {
    const FieldName name = KEDGE_TRY(parse_field_name(field));
    keys.needs().config |= name.kind == FieldName::Kind::Config;
    keys.needs().metrics |= name.kind == FieldName::Kind::Summary;
  }
  return keys.needs();
}

Result<SearchText> search_runs(std::vector<ListedRun> runs, const Search& search,
                               std::int64_t now_us) {
  RunIndex index;
  std::vector<RunEntry> entries;
  entries.reserve(runs.size());
  for (ListedRun& run : runs) {
    entries.push_back(make_entry(std::move(run), index));
  }
  index.fill(std::move(entries));
  FoundRuns found = KEDGE_TRY(index.search(search, now_us));
  const RunFields fields = KEDGE_TRY(find_fields(search.fields.value(), index));
  SearchText answer{.runs = "[", .total = found.total, .warnings = std::move(found.warnings)};
  for (const EntryPointer& entry : found.runs) {
    answer.runs += answer.runs.size() > 1 ? "," : "";
    append_run(answer.runs, *entry, fields);
  }
  answer.runs += ']';
  return answer;
}

}  // namespace kedge::store
