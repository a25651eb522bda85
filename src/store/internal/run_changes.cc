#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/redact.h"
#include "core/result.h"
#include "store/internal/live_run.h"
#include "store/internal/run_rows.h"
#include "store/internal/store_parts.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

using nlohmann::json;

void set_text(std::string& text, const std::optional<std::string>& value) {
  if (value) {
    text = make_valid_text(*value);
  }
}

void set_facts(RunFacts& facts, const RunPatch& patch) {
  set_text(facts.name, patch.name);
  set_text(facts.user, patch.user);
  set_text(facts.host, patch.host);
  set_text(facts.group, patch.group);
  set_text(facts.job_type, patch.job_type);
  set_text(facts.notes, patch.notes);
  set_text(facts.source, patch.source);
  set_text(facts.parent, patch.parent);
  set_text(facts.sweep, patch.sweep);
  set_text(facts.config_hash, patch.config_hash);
  facts.created_us = patch.created_us.value_or(facts.created_us);
  facts.ended_us = patch.ended_us.value_or(facts.ended_us);
  facts.deleted_us = patch.deleted_us.value_or(facts.deleted_us);
  if (patch.tags) {
    facts.tags.clear();
    for (const std::string& tag : *patch.tags) {
      facts.tags.push_back(make_valid_text(tag));
    }
  }
  if (patch.state) {
    facts.state = *patch.state;
    if (facts.state == RunState::Running && !patch.ended_us) {
      facts.ended_us = 0;
    }
  }
}

}  // namespace

Result<void> Store::Impl::apply_patch(Database& database, LiveRun& run, const RunPatch& patch) {
  RunDraft& draft = change(run, kChangedFacts);
  if (patch.config.is_object()) {
    json config = KEDGE_TRY(read_document(database, run.row, Document::Config));
    json values = patch.config;
    if (const auto hidden = redact_values(values); !hidden.empty()) {
      warn("run {}/{}: {} in its config looks like a password or a token, which is not kept",
           run.key.project, run.key.id, fmt::join(hidden, ", "));
    }
    config.merge_patch(values);
    KEDGE_TRY(write_document(database, run.row, Document::Config, config));
    draft.config_values = flatten_config(config, index.config_keys, index.values);
  }
  if (patch.summary.is_object()) {
    json summary = KEDGE_TRY(read_document(database, run.row, Document::Summary));
    summary.merge_patch(patch.summary);
    KEDGE_TRY(write_document(database, run.row, Document::Summary, summary));
    draft.summary_values = flatten_summary(summary, index.metric_keys);
  }
  if (patch.labels.is_object()) {
    json labels = KEDGE_TRY(read_document(database, run.row, Document::Labels));
    labels.merge_patch(patch.labels);
    KEDGE_TRY(write_document(database, run.row, Document::Labels, labels));
    draft.label_values = flatten_labels(labels, index.label_keys);
  }
  if (patch.environment.is_object()) {
    KEDGE_TRY(write_document(database, run.row, Document::Environment, patch.environment));
  }
  if (patch.deleted_us.value_or(0) != 0 && draft.facts.deleted_us == 0) {
    change(run, kRunDeleted);  // whoever shows it takes it away
  }
  set_facts(draft.facts, patch);
  return {};
}

Result<void> Store::Impl::apply_patch(Database& database, LiveRun& run, const RunPatch& patch,
                                      std::int64_t now_us) {
  KEDGE_TRY(apply_patch(database, run, patch));
  if (patch.state && *patch.state == RunState::Running) {
    note_life(run, now_us);
  }
  if (patch.state && *patch.state != RunState::Running && *patch.state != RunState::Pending &&
      !patch.ended_us && run.draft->facts.ended_us == 0) {
    run.draft->facts.ended_us = now_us;
  }
  return {};
}

void Store::Impl::edit_project(const std::string& project, std::function<void(RunFacts&)> edit) {
  ++change_count;
  std::map<RunKey, LivePointer> others;
  for (auto& [key, run] : touched) {
    RunKey now = key;
    if (key.project == project) {
      edit(run->draft->facts);
      now.project = run->draft->facts.project;
    }
    others.emplace(now, run);
  }
  touched = std::move(others);
  project_edits.emplace_back(project, std::move(edit));
}

Result<void> Store::Impl::add_attempt(Database& database, LiveRun& run, const Attempt& attempt) {
  if (attempt.number < 1) {
    return fail(ErrorKind::Usage, fmt::format("an attempt cannot be number {}", attempt.number));
  }
  KEDGE_TRY(write_attempt(database, run.row, attempt));
  RunDraft& draft = change(run, kChangedFacts);
  draft.facts.attempt = std::max(draft.facts.attempt, attempt.number);
  if (!attempt.from_step) {
    return {};
  }
  const auto at =
      std::ranges::lower_bound(draft.beginnings, attempt.number, {}, &Beginning::attempt);
  if (at != draft.beginnings.end() && at->attempt == attempt.number) {
    at->from_step = *attempt.from_step;
  } else {
    draft.beginnings.insert(at, {attempt.number, *attempt.from_step});
  }
  for (LiveSeries& series : run.series) {
    const std::int64_t last = find_last_kept_step(draft.beginnings, series.attempt);
    if (series.kind == MetricKind::Metric && last != series.last_kept_step) {
      series.last_kept_step = last;
      series.must_recount = true;
      draft.must_seal = true;
    }
  }
  return {};
}

void Store::Impl::add_point(LiveRun& run, std::size_t place, const Point& point) {
  RunDraft& draft = *run.draft;
  LiveSeries& series = run.series[place];
  if (!series.is_fresh) {
    series.is_fresh = true;
    draft.fresh.push_back(place);
  }
  series.fresh.steps.push_back(point.step);
  series.fresh.times_us.push_back(point.time_us);
  series.fresh.values.push_back(point.value);
  ++draft.fresh_count;
}

void Store::Impl::note_life(LiveRun& run, std::int64_t now_us) {
  RunDraft& draft = change(run, 0);
  draft.facts.heartbeat_us = std::max(draft.facts.heartbeat_us, now_us);
  if (draft.facts.state == RunState::Crashed) {
    set_state(run, RunState::Running, now_us);
  }
  draft.changes |= kHeartbeat;
}

void Store::Impl::set_state(LiveRun& run, RunState state, std::int64_t time_us) {
  RunDraft& draft = change(run, kChangedFacts);
  draft.facts.state = state;
  draft.facts.ended_us = state == RunState::Running ? 0 : time_us;
}

}  // namespace kedge::store
