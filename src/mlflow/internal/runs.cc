#include "mlflow/internal/runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mlflow/internal/experiments.h"
#include "mlflow/internal/metric_text.h"
#include "mlflow/internal/python_text.h"

namespace kedge::mlflow {
namespace {

using server::append_text;
using store::RunState;

template <typename... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

std::string param_text(const store::QueryValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return std::string(*text);
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? "True" : "False";
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return python_float(*number);
  }
  return "None";
}

void append_pairs(std::string& out, std::string_view name, const KeyValues& pairs) {
  if (pairs.empty()) {
    return;
  }
  out += out.back() == '{' ? "" : ",";
  append(out, "\"{}\":[", name);
  for (const auto& [key, value] : pairs) {
    out += out.back() == '[' ? "{\"key\":" : ",{\"key\":";
    append_text(out, key);
    out += ",\"value\":";
    append_text(out, value);
    out += '}';
  }
  out += ']';
}

void append_metrics(std::string& out, const store::FoundRun& run) {
  std::vector<std::pair<std::string, store::MetricSummary>> metrics;
  run.visit_summary([&](const std::string& name, const store::MetricSummary& summary) {
    metrics.emplace_back(name, summary);
  });
  if (metrics.empty()) {
    return;
  }
  std::ranges::sort(metrics, {},
                    [](const auto& metric) -> const std::string& { return metric.first; });
  out += "\"metrics\":[";
  for (const auto& [name, summary] : metrics) {
    out += out.back() == '[' ? "" : ",";
    append_metric(out, {.key = name,
                        .value = summary.last,
                        .time_us = summary.last_us,
                        .step = summary.last_step});
    out += '}';
  }
  out += ']';
}

KeyValues params_of(const store::FoundRun& run) {
  KeyValues params;
  run.visit_config([&](const std::string& name, const store::QueryValue& value) {
    params.emplace_back(name, param_text(value));
  });
  std::ranges::sort(params);
  return params;
}

KeyValues tags_of(const store::FoundRun& run) {
  KeyValues tags;
  run.visit_labels(
      [&](const std::string& name, std::string_view text) { tags.emplace_back(name, text); });
  for (const std::string_view key : {kRunNameTag, kParentTag, kNoteTag, kUserTag}) {
    const bool is_there =
        std::ranges::any_of(tags, [&](const auto& tag) { return tag.first == key; });
    if (const auto value = fact_tag(run.facts(), key); value && !is_there) {
      tags.emplace_back(key, *value);
    }
  }
  std::ranges::sort(tags);
  return tags;
}

nlohmann::json render_inputs(const store::RunLinks& links) {
  nlohmann::json body = nlohmann::json::object();
  for (const store::DatasetInput& input : links.datasets) {
    nlohmann::json dataset = {{"name", input.dataset.name},
                              {"digest", input.dataset.digest},
                              {"source_type", input.dataset.source_type},
                              {"source", input.dataset.source}};
    if (!input.dataset.schema.empty()) {
      dataset["schema"] = input.dataset.schema;
    }
    if (!input.dataset.profile.empty()) {
      dataset["profile"] = input.dataset.profile;
    }
    nlohmann::json entry = {{"dataset", std::move(dataset)}};
    if (!input.tags.empty()) {
      entry["tags"] = render_pairs(input.tags);
    }
    body["dataset_inputs"].push_back(std::move(entry));
  }
  for (const store::ModelLink& model : links.inputs) {
    body["model_inputs"].push_back({{"model_id", model.model_id}});
  }
  return body;
}

nlohmann::json render_outputs(const store::RunLinks& links) {
  nlohmann::json body = nlohmann::json::object();
  for (const store::ModelLink& model : links.outputs) {
    body["model_outputs"].push_back({{"model_id", model.model_id}, {"step", model.step}});
  }
  return body;
}

}  // namespace

Outcome<LoadedRun> load_run(const Call& call, const std::string& id) {
  for (const store::RunKey& key : call.api.store.find_runs(id)) {
    const auto facts = call.api.store.find_facts(key);
    if (!facts) {
      continue;
    }
    KEDGE_TRY(check_access(call, key.project, key.id));
    return LoadedRun{key, *facts};
  }
  return refuse(Code::ResourceDoesNotExist, fmt::format("Run with id={} not found", id));
}

Outcome<void> check_active(const store::RunFacts& facts) {
  if (facts.deleted_us != 0) {
    return refuse(fmt::format("The run {} must be in the 'active' state. Current state is deleted.",
                              facts.id));
  }
  return {};
}

Outcome<LoadedRun> load_active_run(const Call& call, const std::string& id) {
  LoadedRun run = KEDGE_TRY(load_run(call, id));
  KEDGE_TRY(check_active(run.facts));
  return run;
}

std::string_view status_of(RunState state) {
  switch (state) {
    case RunState::Running:
      return "RUNNING";
    case RunState::Pending:
      return "SCHEDULED";
    case RunState::Finished:
      return "FINISHED";
    case RunState::Failed:
    case RunState::Crashed:
      return "FAILED";
    case RunState::Preempted:
    case RunState::Stopped:
      break;
  }
  return "KILLED";
}

RunState state_of(int status) {
  constexpr auto kStates = std::to_array({RunState::Running, RunState::Pending, RunState::Finished,
                                          RunState::Failed, RunState::Stopped});
  return kStates.at(static_cast<std::size_t>(status - 1));
}

std::string artifact_uri(const store::Project& project, std::string_view run_id) {
  return join_location(project, fmt::format("{}/artifacts", run_id));
}

void set_tag(store::RunPatch& patch, const std::string& key, const std::string& value) {
  if (key == kRunNameTag) {
    patch.name = value;
  } else if (key == kParentTag) {
    patch.parent = value;
  } else if (key == kNoteTag) {
    patch.notes = value;
  } else {
    patch.labels[key] = value;
  }
}

void remove_tag(store::RunPatch& patch, const std::string& key) {
  if (key == kParentTag) {
    patch.parent = "";
  } else if (key == kNoteTag) {
    patch.notes = "";
  } else if (key != kRunNameTag) {  // a run always has a name
    patch.labels[key] = nullptr;
  }
}

std::optional<std::string_view> fact_tag(const store::RunFacts& facts, std::string_view key) {
  std::string_view value;
  if (key == kRunNameTag) {
    value = facts.name;
  } else if (key == kParentTag) {
    value = facts.parent;
  } else if (key == kNoteTag) {
    value = facts.notes;
  } else if (key == kUserTag && facts.source != "mlflow") {
    value = facts.user;  // MLflow's clients send this tag themselves
  }
  return value.empty() ? std::nullopt : std::optional(value);
}

std::string render_info(const store::RunFacts& facts, const store::Project& project) {
  std::string out = "{\"run_id\":";
  append_text(out, facts.id);
  out += ",\"run_uuid\":";
  append_text(out, facts.id);
  out += ",\"run_name\":";
  append_text(out, facts.name);
  append(out, ",\"experiment_id\":\"{}\",\"user_id\":", project.id);
  append_text(out, facts.user);
  append(out, ",\"status\":\"{}\",\"start_time\":{}", status_of(facts.state),
         to_ms(facts.created_us));
  if (facts.ended_us != 0) {
    append(out, ",\"end_time\":{}", to_ms(facts.ended_us));
  }
  out += ",\"artifact_uri\":";
  append_text(out, artifact_uri(project, facts.id));
  append(out, ",\"lifecycle_stage\":\"{}\"}}", facts.deleted_us == 0 ? "active" : "deleted");
  return out;
}

Outcome<void> append_run(std::string& out, const store::FoundRun& run,
                         const store::Project& project, const store::Links& links) {
  out += "{\"info\":" + render_info(run.facts(), project) + ",\"data\":{";
  append_metrics(out, run);
  append_pairs(out, "params", params_of(run));
  append_pairs(out, "tags", tags_of(run));
  const store::RunKey key{run.facts().project, run.facts().id};
  if (!links.has(key)) {
    out += "},\"inputs\":{},\"outputs\":{}}";
    return {};
  }
  const store::RunLinks found = KEDGE_TRY(links.find(key));
  append(out, "}},\"inputs\":{},\"outputs\":{}}}", server::dump(render_inputs(found)),
         server::dump(render_outputs(found)));
  return {};
}

}  // namespace kedge::mlflow
