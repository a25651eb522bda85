#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::int64_t kMaxFields = 100'000;

nlohmann::json render_project(const store::Project& project) {
  return {{"id", project.id},
          {"name", project.name},
          {"run_count", project.run_count},
          {"running_count", project.running_count},
          {"last_us", project.last_us},
          {"labels", project.labels}};
}

// The project as a link to one run shows it: there is no other run.
nlohmann::json render_one_run(const Api& api, const Caller& caller) {
  const auto run = api.store.find_facts({caller.project, caller.run});
  const bool is_running = run && run->state == store::RunState::Running;
  return render_project({.name = caller.project,
                         .run_count = run ? 1U : 0U,
                         .running_count = is_running ? 1U : 0U,
                         .last_us = run ? run->heartbeat_us : 0});
}

Result<Response> list_projects(const Api& api, const Request& request) {
  nlohmann::json list = nlohmann::json::array();
  std::vector<store::Project> projects = api.store.list_projects();
  std::ranges::sort(projects, {}, &store::Project::name);
  for (const store::Project& project : projects) {
    // The default project is there for clients that name none: without runs it says nothing.
    const bool is_empty_default = project.id == store::kDefaultProject && project.run_count == 0;
    if (project.deleted_us == 0 && !is_empty_default &&
        check_project(request.caller, project.name, request.caller.run)) {
      list.push_back(request.caller.run.empty() ? render_project(project)
                                                : render_one_run(api, request.caller));
    }
  }
  return json_response(dump({{"projects", std::move(list)}}));
}

Result<store::ProjectPatch> parse_project_patch(const nlohmann::json& json, std::int64_t now_us) {
  KEDGE_TRY(check_names(json, {"name", "labels", "trash"}));
  store::ProjectPatch patch;
  patch.name = KEDGE_TRY(find_text(json, "name"));
  if (const auto trash = json.find("trash"); trash != json.end()) {
    if (!trash->is_boolean()) {
      return fail(ErrorKind::Usage, "'trash' must be true or false");
    }
    patch.deleted_us = trash->get<bool>() ? now_us : 0;
  }
  const auto labels = json.find("labels");
  if (labels == json.end()) {
    return patch;
  }
  const auto is_text = [](const nlohmann::json& item) {
    return item.is_string() || item.is_null();
  };
  if (!labels->is_object() || !std::ranges::all_of(*labels, is_text)) {
    return fail(ErrorKind::Usage, "'labels' must be an object of texts");
  }
  for (const auto& [name, text] : labels->items()) {
    patch.labels[name] = text.is_null() ? std::nullopt : std::optional(text.get<std::string>());
  }
  return patch;
}

Result<Response> patch_project(const Api& api, const Request& request) {
  const std::string& name = request.parameter("project");
  const auto project = api.store.find_project(name);
  if (!project) {
    return fail(ErrorKind::NotFound, fmt::format("there is no project '{}'", name));
  }
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  const store::ProjectPatch patch = KEDGE_TRY(parse_project_patch(json, api.now_us()));
  const auto changed = KEDGE_TRY(api.store.patch_project(project->id, patch, api.now_us()));
  if (changed.name != name) {
    api.access.rename_project(name, changed.name);
  }
  api.audit(request, "project.change", name, json);
  return json_response(dump(render_project(changed)));
}

// The first `limit` of them, and how many there are.
nlohmann::json render_fields(const std::vector<store::FieldFacts>& fields, std::size_t limit,
                             bool has_values) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::FieldFacts& field : fields | std::views::take(limit)) {
    list.push_back({{"name", field.name}, {"run_count", field.run_count}});
    if (has_values) {
      list.back()["value_count"] = field.value_count;
      list.back()["values"] = field.values;
    }
  }
  return {{"names", std::move(list)}, {"total", fields.size()}};
}

Result<Response> list_fields(const Api& api, const Request& request) {
  const std::int64_t limit = KEDGE_TRY(request.query_number("limit", 1000));
  if (limit < 0 || limit > kMaxFields) {
    return fail(ErrorKind::Usage, fmt::format("limit is 0 to {}", kMaxFields));
  }
  const auto most = static_cast<std::size_t>(limit);
  const store::ProjectFields fields = api.store.list_fields(request.parameter("project"));
  return json_response(dump({{"run_count", fields.run_count},
                             {"config", render_fields(fields.config, most, true)},
                             {"metrics", render_fields(fields.metrics, most, false)},
                             {"tags", render_fields(fields.tags, most, false)},
                             {"labels", render_fields(fields.labels, most, false)}}));
}

}  // namespace

void add_project_routes(Router& router, const Api& api) {
  router.add(Method::Get, "/api/v1/projects", {.is_scoped = true},
             [&api](const Request& request) { return list_projects(api, request); });
  router.add(Method::Patch, "/api/v1/projects/{project}", {.role = Role::Write},
             [&api](const Request& request) { return patch_project(api, request); });
  router.add(Method::Get, "/api/v1/projects/{project}/fields", {.is_compressed = true},
             [&api](const Request& request) { return list_fields(api, request); });
}

}  // namespace kedge::server
