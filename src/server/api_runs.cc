#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"
#include "server/trash.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 32U << 20U;

std::string name_of_run(const store::RunKey& key) {
  return fmt::format("{}/{}", key.project, key.id);
}

Result<http::Response> search_runs(const Api& api, const http::Request& request,
                                   const Input& input) {
  store::Search search = KEDGE_TRY(search_of(input, request.caller));
  search.fields = find<std::vector<std::string>>(input, "fields");
  const store::SearchText answer = KEDGE_TRY(api.store.search_text(search, api.now_us()));
  const std::string days =
      search.shown == store::Shown::Trash ? fmt::format(",\"trash_days\":{}", api.trash_days) : "";
  return http::json_response(fmt::format("{{\"runs\":{},\"total\":{},\"warnings\":{}{}}}",
                                         answer.runs, answer.total, dump(answer.warnings), days));
}

// A small file of the run; empty when there is none, or its bytes have not come yet.
Result<std::string> read_small_file(const Api& api, const store::RunKey& key, const char* path) {
  constexpr std::uint64_t kMaxSmallBytes = 1U << 20U;
  const auto file = KEDGE_TRY(api.store.find_file(key, path));
  if (!file || file->size == 0 || file->size > kMaxSmallBytes ||
      !KEDGE_TRY(api.blobs.find_size(file->digest))) {
    return "";
  }
  return api.blobs.read_all(file->digest, {.size = file->size});
}

// W&B's client sends the environment as two files: the machine as JSON, the packages as pip has
// them.
Result<nlohmann::json> read_environment_files(const Api& api, const store::RunKey& key) {
  const std::string machine = KEDGE_TRY(read_small_file(api, key, "wandb-metadata.json"));
  nlohmann::json environment = nlohmann::json::parse(machine, nullptr, false);
  if (!environment.is_object()) {
    environment = nlohmann::json::object();
  }
  std::istringstream packages(KEDGE_TRY(read_small_file(api, key, "requirements.txt")));
  for (std::string line; std::getline(packages, line);) {
    if (const auto mark = line.find("=="); mark != std::string::npos) {
      environment["packages"][line.substr(0, mark)] = line.substr(mark + 2);
    }
  }
  return environment;
}

Result<http::Response> get_run(const Api& api, const http::Request& request) {
  const store::RunKey key = run_key(request);
  nlohmann::json json = store::render_run(KEDGE_TRY(api.store.find_run(key)));
  json["environment"] = KEDGE_TRY(api.store.find_environment(key));
  if (json["environment"].empty()) {
    json["environment"] = KEDGE_TRY(read_environment_files(api, key));
  }
  return http::json_response(dump(json));
}

Result<http::Response> create_run(const Api& api, const http::Request& request,
                                  const Input& input) {
  Input wanted = input;
  const std::string id = wanted.at("id");
  wanted.erase("id");
  store::RunPatch patch = KEDGE_TRY(store::parse_patch(wanted));
  if (!patch.user && !request.caller.name.empty()) {
    patch.user = request.caller.name;
  }
  KEDGE_TRY(check_project(request.caller, request.parameter("project"), id));
  const auto answer =
      KEDGE_TRY(api.store.create_run({request.parameter("project"), id}, patch, api.now_us()));
  return http::json_response(dump(store::render_run(answer.run)), answer.is_created ? 201 : 200);
}

// Which fields changed; what they hold may be large, or nobody's business in a trail.
std::vector<std::string> names_of(const nlohmann::json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    names.push_back(name);
  }
  return names;
}

Result<http::Response> patch_run(const Api& api, const http::Request& request, const Input& input) {
  const store::RunPatch patch = KEDGE_TRY(store::parse_patch(input));
  const auto run = KEDGE_TRY(api.store.patch_run(run_key(request), patch, api.now_us()));
  api.audit(request, "run.change", name_of_run(run_key(request)), {{"fields", names_of(input)}});
  return http::json_response(dump(store::render_run(run)));
}

// Into the trash; with for_good=1 away at once.
Result<http::Response> delete_run(const Api& api, const http::Request& request,
                                  const Input& input) {
  const store::RunKey key = run_key(request);
  const bool is_for_good = input.at("for_good") == 1;
  if (is_for_good) {
    KEDGE_TRY(remove_run(api, key));
  } else {
    KEDGE_TRY(api.store.edit_run(
        key,
        [&](const store::Run& run) -> Result<store::RunPatch> {
          // One that is there already does not stay longer for being deleted twice.
          const std::int64_t since_us = run.facts.deleted_us;
          return store::RunPatch{.deleted_us = since_us != 0 ? since_us : api.now_us()};
        },
        api.now_us()));
  }
  api.audit(request, is_for_good ? "run.remove" : "run.delete", name_of_run(key));
  return http::Response{.status = 204};
}

Result<http::Response> list_attempts(const Api& api, const http::Request& request) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::Attempt& attempt : KEDGE_TRY(api.store.list_attempts(run_key(request)))) {
    list.push_back(
        {{"number", attempt.number},
         {"host", attempt.host},
         {"started_us", attempt.started_us},
         {"ended_us", attempt.ended_us},
         {"state", attempt.state},
         {"from_step", attempt.from_step ? nlohmann::json(*attempt.from_step) : nlohmann::json()},
         {"changes", attempt.changes}});
  }
  return http::json_response(dump({{"attempts", std::move(list)}}));
}

Result<http::Response> beat(const Api& api, const http::Request& request) {
  KEDGE_TRY(api.store.heartbeat(run_key(request), api.now_us()));
  return http::Response{.status = 204};
}

}  // namespace

namespace {

void name_run_shapes(Routes& routes) {
  routes.name(
      "RunState",
      "'running' | 'finished' | 'failed' | 'crashed' | 'preempted' | 'pending' | 'stopped'");
  routes.name("MetricSummary", R"({
    last: any,  // a number, or what was set by hand
    min?: WireNumber,
    max?: WireNumber,
    last_step?: integer,
    count?: integer,
  })");
  routes.name("Run", R"({
    project: string,
    id: string,
    name: string,
    state: RunState,
    created_us: time,
    ended_us: time | null,
    heartbeat_us: time,
    user: string,
    host: string,
    group: string,
    job_type: string,
    notes: string,
    tags: string[],
    source: string,  // kedge, wandb, mlflow
    attempt: integer,
    last_step: integer | null,
    parent: string,
    sweep: string,
    deleted_us: time | null,  // since when it is in the trash
    config: {*: any},  // flat names ("optimizer.lr") where a search named its fields
    labels: {*: string},  // texts by name: what MLflow calls tags
    summary: {*: MetricSummary},
    environment?: {*: any},  // of one run that was asked for
  })");
  routes.name("RunPatch", R"({
    name?: string,
    state?: RunState | 'interrupted' | 'killed',  // the last two: as run folders have it
    created_us?: time,
    ended_us?: time,
    user?: string,
    host?: string,
    group?: string,
    job_type?: string,
    notes?: string,
    tags?: string[],
    source?: string,
    parent?: string,
    sweep?: string,
    config_hash?: string,
    config?: {*: any},  // merged, as RFC 7396 says
    summary?: {*: any},  // merged
    labels?: {*: string | null},  // merged: null removes one
    deleted_us?: time,  // not 0: in the trash
    environment?: {*: any},
  })");
  routes.name("ConfigChange", "{key: string, before: any, after: any}");
  routes.name("Attempt", R"({
    number: integer,
    host: string,
    started_us: time,
    ended_us: time,
    state: string,
    from_step: integer | null,
    changes: ConfigChange[],
  })");
  routes.name("SearchAnswer", R"({
    runs: Run[],
    total: integer,
    warnings: string[],  // names in the filter that no run has, with the nearest one
    trash_days?: integer,  // of runs in the trash: how long they can be restored
  })");
}

}  // namespace

void add_run_routes(Routes& routes) {
  name_run_shapes(routes);
  routes.name("Search", kSearchShape);
  const std::string run = "/api/v1/runs/{project}/{id}";
  const http::RouteOptions change = {.role = http::Role::Write, .max_body_bytes = kMaxConfigBytes};
  routes.add(http::Method::Post, "/api/v1/runs/search",
             {.summary = "Runs that match a filter, in an order, a page at a time",
              .options = {.is_scoped = true, .is_compressed = true},
              .body = R"(Search & {
                fields?: string[],  // config and summary hold only these, under flat names
              })",
              .answer = "SearchAnswer"},
             search_runs);
  routes.add(http::Method::Post, "/api/v1/runs/{project}",
             {.summary = "Make a run; one that exists is given as it is, with 200",
              .options = change,
              .body = "RunPatch & {id?: string = \"\"}",
              .answer = "Run",
              .statuses = {201, 200}},
             create_run);
  routes.add(http::Method::Get, run,
             {.summary = "All of a run", .options = {.is_compressed = true}, .answer = "Run"},
             get_run);
  routes.add(http::Method::Patch, run,
             {.summary = "Change a run", .options = change, .body = "RunPatch", .answer = "Run"},
             patch_run);
  routes.add(http::Method::Delete, run,
             {.summary = "Put a run into the trash, or remove it and all it logged for good",
              .options = {.role = http::Role::Write},
              .query = R"({
                for_good?: integer(0..1) = 0,  // 1: remove it now
              })"},
             delete_run);
  routes.add(http::Method::Get, run + "/attempts",
             {.summary = "The attempts of a run", .answer = "{attempts: Attempt[]}"},
             list_attempts);
  routes.add(http::Method::Post, run + "/heartbeat",
             {.summary = "A sign of life; a crashed run is running again",
              .options = {.role = http::Role::Write}},
             beat);
}

}  // namespace kedge::server
