#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

nlohmann::json render_project(const store::Project& project) {
  return {{"id", project.id},
          {"name", project.name},
          {"run_count", project.run_count},
          {"running_count", project.running_count},
          {"last_us", project.last_us},
          {"labels", project.labels}};
}

// The project as a link to one run shows it: there is no other run.
nlohmann::json render_one_run(const Api& api, const http::Caller& caller) {
  const auto run = api.store.find_facts({caller.project, caller.run});
  const bool is_running = run && run->state == store::RunState::Running;
  return render_project({.name = caller.project,
                         .run_count = run ? 1U : 0U,
                         .running_count = is_running ? 1U : 0U,
                         .last_us = run ? run->heartbeat_us : 0});
}

Result<http::Response> list_projects(const Api& api, const http::Request& request) {
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
  return http::json_response(dump({{"projects", std::move(list)}}));
}

Result<http::Response> patch_project(const Api& api, const http::Request& request,
                                     const Input& input) {
  const std::string& name = request.parameter("project");
  const auto project = api.store.find_project(name);
  if (!project) {
    return fail(ErrorKind::NotFound, fmt::format("there is no project '{}'", name));
  }
  store::ProjectPatch patch;
  patch.name = find<std::string>(input, "name");
  if (const auto is_trash = find<bool>(input, "trash")) {
    patch.deleted_us = *is_trash ? api.now_us() : 0;
  }
  const Input labels = input.value("labels", Input::object());
  for (const auto& [label, text] : labels.items()) {
    patch.labels[label] = text.is_null() ? std::nullopt : std::optional(text.get<std::string>());
  }
  const auto changed = KEDGE_TRY(api.store.patch_project(project->id, patch, api.now_us()));
  if (changed.name != name) {
    api.access.rename_project(name, changed.name);
  }
  api.audit(request, "project.change", name, input);
  return http::json_response(dump(render_project(changed)));
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

Result<http::Response> list_fields(const Api& api, const http::Request& request,
                                   const Input& input) {
  const std::size_t most = input.at("limit");
  const store::ProjectFields fields = api.store.list_fields(request.parameter("project"));
  return http::json_response(dump({{"run_count", fields.run_count},
                                   {"config", render_fields(fields.config, most, true)},
                                   {"metrics", render_fields(fields.metrics, most, false)},
                                   {"tags", render_fields(fields.tags, most, false)},
                                   {"labels", render_fields(fields.labels, most, false)}}));
}

}  // namespace

void add_project_routes(Routes& routes) {
  routes.name("Project", R"({
    id: integer,  // a number that stays when the name changes; MLflow's experiment_id
    name: string,
    run_count: integer,
    running_count: integer,
    last_us: time,
    labels: {*: string},
  })");
  routes.name("NameCount", R"({
    name: string,
    run_count: integer,  // how many runs have it
  })");
  routes.name("ConfigCount", R"(NameCount & {
    value_count: integer,  // different values
    values: any[],  // all of them, where they are few and short; else none
  })");
  routes.name("NameCounts", R"({
    names: NameCount[],
    total: integer,  // also those beyond the limit
  })");
  routes.name("FieldsAnswer", R"({
    run_count: integer,
    config: {names: ConfigCount[], total: integer},
    metrics: NameCounts,
    tags: NameCounts,
    labels: NameCounts,
  })");
  routes.add(http::Method::Get, "/api/v1/projects",
             {.summary = "The projects there are",
              .options = {.is_scoped = true},
              .answer = "{projects: Project[]}"},
             list_projects);
  routes.add(http::Method::Patch, "/api/v1/projects/{project}",
             {.summary = "Rename a project, change its labels, put it and its runs into the trash "
                         "or take them out",
              .options = {.role = http::Role::Write},
              .body = R"({
                name?: string,
                labels?: {*: string | null},  // merged: null removes one
                trash?: boolean,
              })",
              .answer = "Project"},
             patch_project);
  routes.add(http::Method::Get, "/api/v1/projects/{project}/fields",
             {.summary = "The names that a project's runs have, the most frequent first",
              .options = {.is_compressed = true},
              .query = R"({
                limit?: integer(0..100000) = 1000,  // at most so many of each kind
              })",
              .answer = "FieldsAnswer"},
             list_fields);
}

}  // namespace kedge::server
