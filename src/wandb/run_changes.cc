// Mutations of runs: begun, changed, stopped, rewound, deleted.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/random_text.h"
#include "core/redact.h"
#include "track/names.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/history_row.h"
#include "wandb/internal/lenient_json.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct UpsertedRun {
  RunNode run;
  bool is_inserted = false;
};

struct RewoundRun {
  RunNode run;
};

// {success} and {clientMutationId}: nothing else to say.
struct RunDone {};

// Where an input's run is, and whether it was named by its opaque id.
struct Target {
  store::RunKey key;
  std::string entity;
  bool is_by_id = false;
};

Result<Target> find_target(const Call& call, const Args& input) {
  const auto id = input.text("id");
  if (id && !id->empty()) {
    const auto parsed = parse_run_id(*id);
    if (!parsed) {
      return fail(ErrorKind::NotFound, fmt::format("'{}' is no run's id", *id));
    }
    return Target{parsed->key, parsed->entity, true};
  }
  const auto name = input.text("name");
  return Target{{project_or_default(input.text("modelName")),
                 name && !name->empty() ? *name : make_random_word(8)},
                call.entity_or_viewer(input.text("entityName"))};
}

Result<json> parse_document(const Args& input, const char* name) {
  const auto text = input.text(name);
  json document = text && !text->empty() ? KEDGE_TRY(parse_lenient(*text)) : json();
  if (!document.is_null() && !document.is_object()) {
    return fail(ErrorKind::Usage, fmt::format("{} is not the text of a JSON object", name));
  }
  return document;
}

Result<store::RunPatch> make_facts_patch(const Args& input) {
  store::RunPatch patch;
  patch.name = input.text("displayName");
  patch.notes = input.text("notes");
  if (!patch.notes) {
    patch.notes = input.text("description");
  }
  patch.group = input.text("groupName");
  patch.job_type = input.text("jobType");
  patch.host = input.text("host");
  patch.sweep = input.text("sweep");
  if (input.value("tags").is_array()) {
    patch.tags = input.texts("tags");
  }
  if (const auto word = input.text("state")) {
    patch.state = parse_state(*word);
    if (!patch.state) {
      return fail(ErrorKind::Usage, fmt::format("'{}' is no state of a run", *word));
    }
  }
  return patch;
}

// A client that begins (and none that only changes something) says where it runs.
bool is_beginning(const Args& input) {
  return input.text("host").has_value() || input.text("jobProgram").has_value();
}

// The parent's rows up to a step are the first rows of a fork.
Result<void> copy_history(const Call& call, const store::RunKey& from, const store::RunKey& to,
                          std::int64_t step) {
  store::RowBatch batch;
  for (store::StoredRow& row : KEDGE_TRY(call.transcript().read_rows(from, {.max_step = step}))) {
    batch.rows.push_back(KEDGE_TRY(parse_history(std::move(row.text), row.step, call.now_us())));
  }
  KEDGE_TRY(call.transcript().put_rows(to, batch, call.now_us()));
  return {};
}

Result<void> take_fork(const Call& call, const store::RunKey& key, const json& config) {
  const json* at = &config;
  for (const char* name : {"_wandb", "value", "branch_point"}) {
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end()) {
      return {};
    }
    at = &*found;
  }
  const std::string parent = at->is_object() ? at->value("run_id", "") : "";
  if (parent.empty() || parent == key.id) {
    return {};
  }
  const store::RunKey from{key.project, parent};
  if (!call.api.store.find_facts(from)) {
    return fail(ErrorKind::NotFound, fmt::format("there is no run {} to fork from", parent));
  }
  const json step = at->value("step", json(0));
  KEDGE_TRY(call.api.store.patch_run(key, {.parent = parent}, call.now_us()));
  return copy_history(call, from, key, step.is_number() ? step.get<std::int64_t>() : 0);
}

// The same id again without resume: what was logged is no more part of the run.
Result<void> begin_again(const Call& call, const store::RunKey& key) {
  const auto facts = call.api.store.find_facts(key);
  if (facts && facts->last_step) {
    KEDGE_TRY(call.transcript().rewind(key, -1, call.now_us()));
  }
  KEDGE_TRY(call.transcript().clear(key));
  KEDGE_TRY(call.transcript().put_document(key, kSummaryDocument, "{}"));
  const store::Run run = KEDGE_TRY(call.api.store.find_run(key));
  json patch = json::object();
  for (const auto& [name, value] : run.summary.items()) {
    patch[name] = nullptr;
  }
  KEDGE_TRY(call.api.store.patch_run(key, {.summary = std::move(patch)}, call.now_us()));
  return {};
}

// The client's own text, unless something must be hidden in it. Values are in {"value": ...}.
std::string without_secrets(json config, const std::string& text) {
  bool is_hidden = false;
  for (auto& [name, wrapped] : config.items()) {
    if (wrapped.is_object() && wrapped.contains("value")) {
      json one = {{name, wrapped["value"]}};
      is_hidden = !redact_values(one).empty() || is_hidden;
      wrapped["value"] = std::move(one[name]);
    }
  }
  return is_hidden ? config.dump() : text;
}

Result<void> take_documents(const Call& call, const store::RunKey& key, const Args& input) {
  const json config = KEDGE_TRY(parse_document(input, "config"));
  if (config.is_object()) {
    KEDGE_TRY(call.transcript().put_document(key, kConfigDocument,
                                             without_secrets(config, *input.text("config"))));
    KEDGE_TRY(call.api.store.edit_run(
        key,
        [&](const store::Run& run) -> Result<store::RunPatch> {
          return store::RunPatch{.config = make_patch(run.config, unwrap_config(config))};
        },
        call.now_us()));
  }
  const json summary = KEDGE_TRY(parse_document(input, "summaryMetrics"));
  if (summary.is_object()) {
    KEDGE_TRY(call.transcript().put_document(key, kSummaryDocument, *input.text("summaryMetrics")));
    const store::Run run = KEDGE_TRY(call.api.store.find_run(key));
    KEDGE_TRY(call.api.store.patch_run(key, {.summary = make_summary_patch(run, summary)},
                                       call.now_us()));
  }
  json origin = json::object();
  for (const auto& [name, wire] : {std::pair("program", "jobProgram"), std::pair("repo", "jobRepo"),
                                   std::pair("commit", "commit")}) {
    if (const auto text = input.text(wire)) {
      origin[name] = *text;
    }
  }
  return origin.empty() ? Result<void>()
                        : call.transcript().put_document(key, kOriginDocument, origin.dump());
}

Result<Value> upsert_bucket(const Call& call, const Args& args) {
  const Args input = args.input();
  const Target target = KEDGE_TRY(find_target(call, input));
  KEDGE_TRY(call.check(target.key.project, target.key.id));
  store::RunPatch patch = KEDGE_TRY(make_facts_patch(input));
  const auto known = call.api.store.find_facts(target.key);
  if (known) {
    const bool is_pending = known->state == store::RunState::Pending;
    if (!target.is_by_id && is_beginning(input) && !is_pending) {
      KEDGE_TRY(begin_again(call, target.key));
    }
    if (is_beginning(input)) {
      patch.state = patch.state.value_or(store::RunState::Running);
      patch.deleted_us = 0;
    }
    KEDGE_TRY(call.api.store.patch_run(target.key, patch, call.now_us()));
  } else {
    if (target.is_by_id) {
      return fail(ErrorKind::NotFound, fmt::format("there is no run {}", target.key.id));
    }
    if (!patch.name || patch.name->empty()) {
      patch.name = track::make_run_name();
    }
    patch.source = "wandb";
    patch.user = call.viewer();
    KEDGE_TRY(call.api.store.create_run(target.key, patch, call.now_us()));
    KEDGE_TRY(call.api.store.put_attempts(
        target.key, {{.number = 1, .host = patch.host.value_or(""), .started_us = call.now_us()}}));
  }
  if (is_beginning(input)) {
    KEDGE_TRY(call.transcript().put_document(target.key, kStopDocument, "0"));
  }
  KEDGE_TRY(take_documents(call, target.key, input));
  if (!known) {
    KEDGE_TRY(take_fork(call, target.key, KEDGE_TRY(parse_document(input, "config"))));
  }
  return make_node(UpsertedRun{RunNode(call, target.key, target.entity), !known});
}

Result<Value> rewind_run(const Call& call, const Args& args) {
  const Args input = args.input();
  const store::RunKey key{project_or_default(input.text("projectName")),
                          input.text("runName").value_or("")};
  KEDGE_TRY(call.check(key.project, key.id));
  const auto metric = input.text("metricName");
  const auto step = input.number("metricValue");
  if ((metric && *metric != "_step") || !step) {
    return fail(ErrorKind::Usage, "a run is rewound to a _step");
  }
  KEDGE_TRY(call.transcript().rewind(key, *step, call.now_us()));
  return make_node(RewoundRun{RunNode(call, key, call.entity_or_viewer(input.text("entityName")))});
}

Result<Value> delete_run(const Call& call, const Args& args) {
  const RunNode run = KEDGE_TRY(load_run(call, args.input().text("id").value_or("")));
  // Into the trash, as MLflow's and the page's deletions: it can be restored there.
  KEDGE_TRY(call.api.store.patch_run(run.key(), {.deleted_us = call.now_us()}, call.now_us()));
  call.api.audit(call.request, "run.delete", run.key().project + "/" + run.key().id);
  return make_node(RunDone());
}

Result<Value> stop_run(const Call& call, const Args& args) {
  const RunNode run = KEDGE_TRY(load_run(call, args.input().text("id").value_or("")));
  KEDGE_TRY(call.transcript().put_document(run.key(), kStopDocument, "1"));
  return make_node(RunDone());
}

Result<Value> update_state(const Call& call, const Args& args) {
  const Args input = args.input();
  const RunNode run = KEDGE_TRY(load_run(call, input.text("id").value_or("")));
  const auto state = parse_state(input.text("state").value_or(""));
  if (!state) {
    return fail(ErrorKind::Usage, "this is no state of a run");
  }
  KEDGE_TRY(call.api.store.patch_run(run.key(), {.state = *state}, call.now_us()));
  return make_node(RunDone());
}

std::string alert_level(const std::string& severity) {
  return severity == "ERROR" ? "error" : severity == "WARN" ? "warning" : "info";
}

// One of a title in waitDuration: a loop that raises an alert at each step must not fill the list.
Result<Value> notify(const Call& call, const Args& args) {
  const Args input = args.input();
  const store::RunKey key{project_or_default(input.text("projectName")),
                          input.text("runName").value_or("")};
  KEDGE_TRY(call.check(key.project, key.id));
  const std::string title = input.text("title").value_or("");
  const std::int64_t wait_us = input.number("waitDuration").value_or(0) * 1000;
  const auto last =
      KEDGE_TRY(call.api.store.read_records(key, {.type = "alert", .key = title, .limit = 1}));
  if (!last.records.empty() && last.records[0].time_us + wait_us > call.now_us()) {
    return make_node(RunDone());
  }
  const auto facts = call.api.store.find_facts(key);
  store::Record alert{.type = "alert", .key = title, .body = {}};
  alert.step = facts ? facts->last_step.value_or(-1) : -1;  // the rows to come may know better
  alert.time_us = call.now_us();
  alert.attempt = facts ? facts->attempt : 1;
  alert.body = {{"title", title},
                {"text", input.text("text").value_or("")},
                {"level", alert_level(input.text("severity").value_or("INFO"))}};
  KEDGE_TRY(call.api.store.add_records(key, {std::move(alert)}, call.now_us()));
  return make_node(RunDone());
}

}  // namespace

void declare_run_changes(graphql::Schema& schema) {
  TypeBuilder<UpsertedRun>(schema, "UpsertBucketPayload")
      .object("bucket", "Run", &UpsertedRun::run)
      .leaf("inserted", &UpsertedRun::is_inserted)
      .leaf("updated", [](const UpsertedRun& made) { return !made.is_inserted; });
  TypeBuilder<RewoundRun>(schema, "RewindRunPayload").object("rewoundRun", "Run", &RewoundRun::run);
  TypeBuilder<RunDone>(schema, "DonePayload")
      .leaf("success", [](const RunDone&) { return true; })
      .leaf("clientMutationId", [](const RunDone&) { return json(); });
  TypeBuilder<Call>(schema, "Mutation")
      .object("upsertBucket", "UpsertBucketPayload", upsert_bucket)
      .object("rewindRun", "RewindRunPayload", rewind_run)
      .object("deleteRun", "DonePayload", delete_run)
      .object("stopRun", "DonePayload", stop_run)
      .object("updateRunState", "DonePayload", update_state)
      .object("notifyScriptableRunAlert", "DonePayload", notify);
  schema.add_input(
      "UpsertBucketInput",
      "id name groupName modelName entityName description displayName notes config commit "
      "host debug jobProgram jobRepo jobType state sweep tags summaryMetrics");
  schema.add_input("RewindRunInput", "runName entityName projectName metricName metricValue");
}

}  // namespace kedge::wandb
