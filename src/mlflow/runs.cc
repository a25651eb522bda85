#include "mlflow/internal/runs.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/state.h"
#include "mlflow/internal/tags.h"
#include "track/names.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr auto kRunStatuses = std::to_array<EnumName>(
    {{"RUNNING", 1}, {"SCHEDULED", 2}, {"FINISHED", 3}, {"FAILED", 4}, {"KILLED", 5}});

// The project of a run that is loaded: it is there.
Outcome<store::Project> project_of(const Call& call, const store::RunKey& key) {
  const auto project = find_experiment(call, key.project);
  if (!project) {
    return refuse(Code::ResourceDoesNotExist, fmt::format("Run with id={} not found", key.id));
  }
  return *project;
}

Outcome<std::string> render_run(const Call& call, const store::RunKey& key) {
  const auto project = KEDGE_TRY(project_of(call, key));
  std::string body;
  Outcome<void> done;
  KEDGE_TRY(call.api.store.visit_run(key, [&](const store::FoundRun& run) {
    body = "{\"run\":";
    done = append_run(body, run, project, call.state.links);
    body += '}';
  }));
  KEDGE_TRY(std::move(done));
  return body;
}

// One name, from the field, the tag or made up; given twice they must agree.
Outcome<std::string> read_run_name(const Fields& fields, const KeyValues& tags) {
  std::string name = KEDGE_TRY(fields.text("run_name"));
  for (const auto& [key, value] : tags) {
    if (key != kRunNameTag || value.empty()) {
      continue;
    }
    if (!name.empty() && name != value) {
      return refuse(
          fmt::format("Both 'run_name' argument and 'mlflow.runName' tag are specified, "
                      "but with different values (run_name='{}', mlflow.runName='{}').",
                      name, value));
    }
    name = value;
  }
  return name.empty() ? track::make_run_name() : name;
}

Outcome<Response> create_run(const Call& call) {
  const auto id = KEDGE_TRY(call.fields.find_text("experiment_id")).value_or("0");
  const auto project = KEDGE_TRY(load_experiment(call, id.empty() ? "0" : id));
  KEDGE_TRY(check_active(project));
  const KeyValues tags = KEDGE_TRY(read_tags(call.fields, "tags"));
  store::RunPatch patch;
  for (const auto& [key, value] : tags) {
    set_tag(patch, key, value);
  }
  patch.name = KEDGE_TRY(read_run_name(call.fields, tags));
  patch.user = KEDGE_TRY(call.fields.text("user_id"));
  patch.source = "mlflow";
  patch.state = store::RunState::Running;
  const std::int64_t now_us = call.api.now_us();
  const auto start = KEDGE_TRY(call.fields.find_integer("start_time"));
  patch.created_us = start ? from_ms(*start) : now_us;
  const auto made = KEDGE_TRY(call.api.store.create_run({project.name, make_id()}, patch, now_us));
  return reply_text(KEDGE_TRY(render_run(call, {project.name, made.run.facts.id})));
}

Outcome<Response> update_run(const Call& call) {
  const LoadedRun run = KEDGE_TRY(load_active_run(call, KEDGE_TRY(call.fields.need_run_id())));
  const int status = KEDGE_TRY(call.fields.enumerated("status", kRunStatuses, 0));
  const auto end = KEDGE_TRY(call.fields.find_integer("end_time"));
  const std::string name = KEDGE_TRY(call.fields.text("run_name"));
  store::RunPatch patch;
  if (status != 0) {
    patch.state = state_of(status);
  }
  if (end) {
    patch.ended_us = from_ms(*end);
  }
  if (!name.empty()) {
    patch.name = name;
  }
  const auto changed = KEDGE_TRY(call.api.store.patch_run(run.key, patch, call.api.now_us()));
  const auto project = KEDGE_TRY(project_of(call, run.key));
  return reply_text(fmt::format("{{\"run_info\":{}}}", render_info(changed.facts, project)));
}

Outcome<Response> set_run_deleted(const Call& call, bool is_deleted) {
  const LoadedRun run = KEDGE_TRY(load_run(call, KEDGE_TRY(call.fields.need_run_id())));
  const std::int64_t now_us = call.api.now_us();
  if ((run.facts.deleted_us != 0) != is_deleted) {
    KEDGE_TRY(call.api.store.patch_run(run.key, {.deleted_us = is_deleted ? now_us : 0}, now_us));
  }
  return reply_empty();
}

Outcome<Response> remove_run(const Call& call) {
  return set_run_deleted(call, true);
}

Outcome<Response> restore_run(const Call& call) {
  return set_run_deleted(call, false);
}

}  // namespace

Outcome<http::Response> get_run(const Call& call) {
  const LoadedRun run = KEDGE_TRY(load_run(call, KEDGE_TRY(call.fields.need_run_id())));
  return reply_text(KEDGE_TRY(render_run(call, run.key)));
}

void add_run_calls(Calls& calls) {
  calls.write(Method::Post, "runs/create", create_run);
  calls.read(Method::Get, "runs/get", get_run);
  calls.write(Method::Post, "runs/update", update_run);
  calls.write(Method::Post, "runs/delete", remove_run);
  calls.write(Method::Post, "runs/restore", restore_run);
}

}  // namespace kedge::mlflow
