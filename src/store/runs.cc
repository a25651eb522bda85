#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/journal.h"
#include "store/internal/live_run.h"
#include "store/internal/run_rows.h"
#include "store/internal/run_text.h"
#include "store/internal/store_parts.h"
#include "store/internal/tables.h"
#include "store/internal/text.h"
#include "store/store.h"
#include "track/names.h"

namespace kedge::store {
namespace {

using nlohmann::json;

json render_summary(const KeyedSummary& metric) {
  return {{"last", render_number(metric.last)},
          {"min", render_number(metric.min)},
          {"max", render_number(metric.max)},
          {"last_step", metric.last_step},
          {"count", metric.count}};
}

json render_labels(const RunEntry& entry, const KeyTable& keys) {
  json labels = json::object();
  for (const auto& value : entry.label_values) {
    labels[keys.name(value->key)] = render_value(value->value);
  }
  return labels;
}

json render_summaries(const RunEntry& entry, const KeyTable& keys) {
  json summary = json::object();
  for (const KeyedSummary& metric : entry.metrics) {
    summary[keys.name(metric.key)] = render_summary(metric);
  }
  for (const auto& value : entry.summary_values) {
    summary[keys.name(value->key)]["last"] = render_value(value->value);
  }
  return summary;
}

Run pick_fields(const RunEntry& entry, const RunFields& fields) {
  Run run{.facts = entry.facts, .config = json::object(), .summary = json::object()};
  for (const auto& [name, key] : fields.config) {
    if (const KeyedValue* value = find_value(entry.config_values, key)) {
      run.config[name] = render_value(value->value);
    }
  }
  for (const auto& [name, key] : fields.summary) {
    if (const KeyedSummary* metric = entry.find_metric(key)) {
      run.summary[name] = render_summary(*metric);
    }
    if (const KeyedValue* value = find_value(entry.summary_values, key)) {
      run.summary[name]["last"] = render_value(value->value);
    }
  }
  for (const auto& [name, key] : fields.labels) {
    if (const KeyedValue* value = find_value(entry.label_values, key)) {
      run.labels[name] = render_value(value->value);
    }
  }
  return run;
}

Result<std::vector<Run>> read_whole(Database& database, const std::vector<EntryPointer>& entries,
                                    const RunIndex& index) {
  std::vector<Run> runs;
  runs.reserve(entries.size());
  for (const EntryPointer& entry : entries) {
    runs.push_back({.facts = entry->facts,
                    .config = KEDGE_TRY(read_document(database, entry->row, Document::Config)),
                    .summary = render_summaries(*entry, index.metric_keys),
                    .labels = render_labels(*entry, index.label_keys)});
  }
  return runs;
}

// As the transaction under way sees it: find_run() shows what is committed.
json render_live_summaries(const LiveRun& run, const json& set, const KeyTable& keys) {
  std::vector<AttemptSummary> parts;
  for (const LiveSeries& series : run.series) {
    MetricSummary kept = series.kept;
    add_points(kept, series.fresh, series.last_kept_step);
    if (series.kind == MetricKind::Metric && kept.count > 0) {
      parts.push_back({series.key, series.attempt, kept});
    }
  }
  json summary = json::object();
  for (const KeyedSummary& metric : sum_up(std::move(parts))) {
    summary[keys.name(metric.key)] = render_summary(metric);
  }
  for (const auto& [name, value] : set.items()) {
    summary[name]["last"] = value;
  }
  return summary;
}

Result<void> delete_live(Database& database, Store::Impl& impl, LiveRun& run) {
  KEDGE_TRY(database.run("DELETE FROM journal WHERE id >= $1 AND id < $2",
                         {journal_begin(run.row), journal_end(run.row)}));
  KEDGE_TRY(database.run("DELETE FROM runs WHERE id = $1", {run.row}));
  impl.change(run, kRunDeleted).is_deleted = true;
  impl.deleted.emplace_back(run.key, run.row);
  return {};
}

}  // namespace

Result<void> edit_live(Database& database, Store::Impl& impl, LiveRun& run,
                       const std::function<Result<RunPatch>(const Run&)>& edit,
                       std::int64_t now_us) {
  const json set = KEDGE_TRY(read_document(database, run.row, Document::Summary));
  const Run now{.facts = run.draft->facts,
                .config = KEDGE_TRY(read_document(database, run.row, Document::Config)),
                .summary = render_live_summaries(run, set, impl.index.metric_keys),
                .labels = KEDGE_TRY(read_document(database, run.row, Document::Labels))};
  return impl.apply_patch(database, run, KEDGE_TRY(edit(now)), now_us);
}

Result<SearchAnswer> Store::search(const Search& search, std::int64_t now_us) const {
  const RunIndex& index = impl_->index;
  FoundRuns found = KEDGE_TRY(index.search(search, now_us));
  SearchAnswer answer{.runs = {}, .total = found.total, .warnings = std::move(found.warnings)};
  answer.runs.reserve(found.runs.size());
  if (search.fields) {
    const RunFields fields = KEDGE_TRY(find_fields(*search.fields, index));
    for (const EntryPointer& entry : found.runs) {
      answer.runs.push_back(pick_fields(*entry, fields));
    }
    return answer;
  }
  answer.runs = KEDGE_TRY(Tables(*this).read(
      [&](Database& database) { return read_whole(database, found.runs, index); }));
  return answer;
}

Result<SearchText> Store::search_text(const Search& search, std::int64_t now_us) const {
  const RunIndex& index = impl_->index;
  FoundRuns found = KEDGE_TRY(index.search(search, now_us));
  SearchText answer{.runs = "[", .total = found.total, .warnings = std::move(found.warnings)};
  const auto next = [&]() -> std::string& { return answer.runs += answer.runs == "[" ? "" : ","; };
  const auto check_size = [&]() -> Result<void> {
    return answer.runs.size() <= kMaxTextBytes
               ? Result<void>()
               : fail(ErrorKind::Usage, "these runs have more than 64 MiB of configs and summaries",
                      "ask for fewer at once ('limit', 'offset'), or for some 'fields' of them");
  };
  if (search.fields) {
    const RunFields fields = KEDGE_TRY(find_fields(*search.fields, index));
    for (const EntryPointer& entry : found.runs) {
      append_run(next(), *entry, fields);
      KEDGE_TRY(check_size());
    }
  } else {
    KEDGE_TRY(impl_->read([&](Database& database) -> Result<void> {
      answer.runs = "[";  // it may be the second try
      for (const EntryPointer& entry : found.runs) {
        std::string config = "{}";
        KEDGE_TRY(visit_document(database, entry->row, Document::Config,
                                 [&](std::string_view text) -> Result<void> {
                                   config = text;
                                   return {};
                                 }));
        append_run(next(), *entry, config, index);
        KEDGE_TRY(check_size());
      }
      return {};
    }));
  }
  answer.runs += ']';
  return answer;
}

Result<Run> Store::find_run(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  Run run{.facts = entry->facts,
          .config = {},
          .summary = render_summaries(*entry, impl_->index.metric_keys),
          .labels = render_labels(*entry, impl_->index.label_keys)};
  run.config = KEDGE_TRY(Tables(*this).read(
      [&](Database& database) { return read_document(database, entry->row, Document::Config); }));
  return run;
}

std::optional<RunFacts> Store::find_facts(const RunKey& key) const {
  const EntryPointer entry = impl_->index.find(key);
  return entry == nullptr ? std::nullopt : std::optional(entry->facts);
}

Result<json> Store::find_environment(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  return Tables(*this).read([&](Database& database) {
    return read_document(database, entry->row, Document::Environment);
  });
}

Result<CreateAnswer> Store::create_run(const RunKey& key, const RunPatch& patch,
                                       std::int64_t now_us) {
  const RunKey whole{key.project, key.id.empty() ? track::make_run_id(now_us / 1'000'000) : key.id};
  bool is_created = false;
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    const auto found = impl_->touch(database, whole);
    is_created = !found;
    if (found) {
      return {};
    }
    if (found.error().kind != ErrorKind::NotFound) {
      return std::unexpected(found.error());
    }
    LiveRun* run = KEDGE_TRY(impl_->create(database, whole, now_us));
    return impl_->apply_patch(database, *run, patch);
  }));
  return CreateAnswer{.run = KEDGE_TRY(find_run(whole)), .is_created = is_created};
}

Result<Run> Store::patch_run(const RunKey& key, const RunPatch& patch, std::int64_t now_us) {
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    return impl_->apply_patch(database, *run, patch, now_us);
  }));
  return find_run(key);
}

Result<Run> Store::edit_run(const RunKey& key,
                            const std::function<Result<RunPatch>(const Run&)>& edit,
                            std::int64_t now_us) {
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    return edit_live(database, *impl_, *run, edit, now_us);
  }));
  return find_run(key);
}

void Store::edit_run(const RunKey& key, std::function<Result<RunPatch>(const Run&)> edit,
                     std::int64_t now_us, Done<void> done) {
  impl_->writer->submit(
      [impl = impl_.get(), key, edit = std::move(edit),
       now_us](Database& database) -> Result<void> {
        LiveRun* run = KEDGE_TRY(impl->touch(database, key));
        return edit_live(database, *impl, *run, edit, now_us);
      },
      std::move(done));
}

Result<Run> Store::put_run(const RunKey& key, const RunPatch& patch, std::int64_t now_us) {
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch_or_create(database, key, now_us));
    return impl_->apply_patch(database, *run, patch);
  }));
  return find_run(key);
}

Result<void> Store::delete_run(const RunKey& key) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    return delete_live(database, *impl_, *KEDGE_TRY(impl_->touch(database, key)));
  });
}

Result<bool> Store::delete_trashed_run(const RunKey& key, std::int64_t before_us) {
  bool is_deleted = false;
  KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    const std::int64_t since_us = run->draft->facts.deleted_us;
    is_deleted = since_us != 0 && since_us < before_us;
    return is_deleted ? delete_live(database, *impl_, *run) : Result<void>();
  }));
  return is_deleted;
}

Result<std::vector<Attempt>> Store::list_attempts(const RunKey& key) const {
  const EntryPointer entry = KEDGE_TRY(impl_->find_entry(key));
  auto attempts = KEDGE_TRY(
      Tables(*this).read([&](Database& database) { return read_attempts(database, entry->row); }));
  settle_attempts(attempts, entry->facts);
  return attempts;
}

Result<void> Store::put_attempts(const RunKey& key, const std::vector<Attempt>& attempts) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    for (const Attempt& attempt : attempts) {
      KEDGE_TRY(impl_->add_attempt(database, *run, attempt));
    }
    return {};
  });
}

Result<void> Store::heartbeat(const RunKey& key, std::int64_t now_us) {
  return impl_->writer->run([&](Database& database) -> Result<void> {
    LiveRun* run = KEDGE_TRY(impl_->touch(database, key));
    impl_->note_life(*run, now_us);
    return {};
  });
}

Result<std::vector<RunKey>> Store::mark_crashed(std::int64_t now_us, const Silence& silence_of) {
  constexpr std::size_t kAtOnce = 100;  // others wait for the writer meanwhile
  const auto is_silent = [&](const RunFacts& facts) {
    const auto limit =
        facts.state == RunState::Running ? silence_of(facts) : std::optional<std::int64_t>();
    return limit && std::max(facts.heartbeat_us, impl_->opened_us) + *limit < now_us;
  };
  const std::vector<RunKey> silent = impl_->index.find_keys(is_silent);
  std::vector<RunKey> crashed;
  for (std::size_t begin = 0; begin < silent.size(); begin += kAtOnce) {
    const std::size_t before = crashed.size();
    KEDGE_TRY(impl_->writer->run([&](Database& database) -> Result<void> {
      crashed.resize(before);
      for (std::size_t i = begin; i < std::min(begin + kAtOnce, silent.size()); ++i) {
        const auto run = impl_->touch(database, silent[i]);
        // It may have been deleted, or spoken, since.
        if (run && is_silent((*run)->draft->facts)) {
          impl_->set_state(**run, RunState::Crashed, (*run)->draft->facts.heartbeat_us);
          crashed.push_back(silent[i]);
        }
      }
      return {};
    }));
  }
  return crashed;
}

}  // namespace kedge::store
