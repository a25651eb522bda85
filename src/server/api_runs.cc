#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"
#include "server/trash.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 32U << 20U;

std::string name_of_run(const store::RunKey& key) {
  return fmt::format("{}/{}", key.project, key.id);
}

Result<Response> search_runs(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(
      check_names(json, {"project", "filter", "order", "limit", "offset", "fields", "trash"}));
  store::Search search = KEDGE_TRY(parse_search(json, request.caller));
  search.fields = KEDGE_TRY(find_texts(json, "fields"));
  const store::SearchText answer = KEDGE_TRY(api.store.search_text(search, api.now_us()));
  const std::string days =
      search.shown == store::Shown::Trash ? fmt::format(",\"trash_days\":{}", api.trash_days) : "";
  return json_response(fmt::format("{{\"runs\":{},\"total\":{},\"warnings\":{}{}}}", answer.runs,
                                   answer.total, dump(answer.warnings), days));
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

Result<Response> get_run(const Api& api, const Request& request) {
  const store::RunKey key = run_key(request);
  nlohmann::json json = store::render_run(KEDGE_TRY(api.store.find_run(key)));
  json["environment"] = KEDGE_TRY(api.store.find_environment(key));
  if (json["environment"].empty()) {
    json["environment"] = KEDGE_TRY(read_environment_files(api, key));
  }
  return json_response(dump(json));
}

Result<Response> create_run(const Api& api, const Request& request) {
  nlohmann::json json =
      request.body.empty() ? nlohmann::json::object() : KEDGE_TRY(parse_object(request));
  const std::string id = KEDGE_TRY(find_text(json, "id")).value_or("");
  json.erase("id");
  store::RunPatch patch = KEDGE_TRY(store::parse_patch(json));
  if (!patch.user && !request.caller.name.empty()) {
    patch.user = request.caller.name;
  }
  KEDGE_TRY(check_project(request.caller, request.parameter("project"), id));
  const auto answer =
      KEDGE_TRY(api.store.create_run({request.parameter("project"), id}, patch, api.now_us()));
  return json_response(dump(store::render_run(answer.run)), answer.is_created ? 201 : 200);
}

// Which fields changed; what they hold may be large, or nobody's business in a trail.
std::vector<std::string> names_of(const nlohmann::json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    names.push_back(name);
  }
  return names;
}

Result<Response> patch_run(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  const store::RunPatch patch = KEDGE_TRY(store::parse_patch(json));
  const auto run = KEDGE_TRY(api.store.patch_run(run_key(request), patch, api.now_us()));
  api.audit(request, "run.change", name_of_run(run_key(request)), {{"fields", names_of(json)}});
  return json_response(dump(store::render_run(run)));
}

// Into the trash; with for_good=1 away at once.
Result<Response> delete_run(const Api& api, const Request& request) {
  const store::RunKey key = run_key(request);
  const bool is_for_good = request.query_value("for_good") == "1";
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
  return Response{.status = 204};
}

Result<Response> list_attempts(const Api& api, const Request& request) {
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
  return json_response(dump({{"attempts", std::move(list)}}));
}

Result<Response> beat(const Api& api, const Request& request) {
  KEDGE_TRY(api.store.heartbeat(run_key(request), api.now_us()));
  return Response{.status = 204};
}

}  // namespace

void add_run_routes(Router& router, const Api& api) {
  const auto add = [&](Method method, std::string pattern, RouteOptions options,
                       Result<Response> (*handler)(const Api&, const Request&)) {
    router.add(method, std::move(pattern), options,
               [&api, handler](const Request& request) { return handler(api, request); });
  };
  const std::string run = "/api/v1/runs/{project}/{id}";
  add(Method::Post, "/api/v1/runs/search", {.is_scoped = true, .is_compressed = true}, search_runs);
  add(Method::Post, "/api/v1/runs/{project}",
      {.role = Role::Write, .max_body_bytes = kMaxConfigBytes}, create_run);
  add(Method::Get, run, {.is_compressed = true}, get_run);
  add(Method::Patch, run, {.role = Role::Write, .max_body_bytes = kMaxConfigBytes}, patch_run);
  add(Method::Delete, run, {.role = Role::Write}, delete_run);
  add(Method::Get, run + "/attempts", {}, list_attempts);
  add(Method::Post, run + "/heartbeat", {.role = Role::Write}, beat);
}

}  // namespace kedge::server
