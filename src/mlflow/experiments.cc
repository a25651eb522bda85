#include "mlflow/internal/experiments.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/listed.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr std::int64_t kMostFoundExperiments = 50'000;

nlohmann::json render_experiment(const store::Project& project) {
  nlohmann::json body = {{"experiment_id", std::to_string(project.id)},
                         {"name", project.name},
                         {"artifact_location", project.artifact_root},
                         {"lifecycle_stage", project.deleted_us == 0 ? "active" : "deleted"},
                         {"creation_time", to_ms(project.created_us)},
                         {"last_update_time", to_ms(project.changed_us)}};
  if (!project.labels.empty()) {
    body["tags"] = render_pairs({project.labels.begin(), project.labels.end()});
  }
  return body;
}

store::Project with_root(const Call& call, store::Project project) {
  if (project.artifact_root.empty()) {
    std::string_view root = call.state.artifact_root;
    while (root.ends_with('/')) {
      root.remove_suffix(1);
    }
    project.artifact_root = fmt::format("{}/{}", root, project.id);
  }
  return project;
}

Fault no_experiment(std::string_view id) {
  return {Code::ResourceDoesNotExist, fmt::format("No Experiment with id={} exists", id)};
}

// Where clients put files themselves, or a part of what the server keeps; empty: the usual place.
Outcome<std::string> read_location(const Fields& fields) {
  const std::string location = KEDGE_TRY(fields.text("artifact_location"));
  if (location.empty()) {
    return location;
  }
  KEDGE_TRY(check_length(location, 2048, "artifact_location"));
  if (location.starts_with("runs:")) {
    return refuse(fmt::format("Artifact location cannot be a runs:/ URI. Given: '{}'", location));
  }
  if (location.find_first_of("#;?") != std::string::npos) {
    return refuse("'artifact_location' URL can't include fragments or params.");
  }
  const bool is_path = location.find(':') == std::string::npos;
  return is_path ? std::filesystem::absolute(location).lexically_normal().string() : location;
}

Outcome<void> check_tags(const KeyValues& tags) {
  for (const auto& [key, value] : tags) {
    KEDGE_TRY(check_key(key, "key"));
    KEDGE_TRY(check_length(key, kMaxKey, "key"));
    KEDGE_TRY(check_length(value, 20'000, "value"));
  }
  return {};
}

Outcome<Response> create_experiment(const Call& call) {
  store::ProjectDraft draft;
  draft.name = KEDGE_TRY(call.fields.need_text("name"));
  draft.artifact_root = KEDGE_TRY(read_location(call.fields));
  const KeyValues tags = KEDGE_TRY(call.fields.key_values("tags"));
  KEDGE_TRY(check_experiment_name(draft.name));
  KEDGE_TRY(check_tags(tags));
  KEDGE_TRY(check_access(call, draft.name));
  draft.labels = {tags.begin(), tags.end()};
  if (const auto other = call.api.store.find_project(draft.name)) {
    return refuse(
        Code::ResourceAlreadyExists,
        fmt::format(
            "Experiment(name={}) already exists.{}", draft.name,
            other->deleted_us != 0 ? " It is deleted: restore it, or take another name." : ""));
  }
  auto made = call.api.store.create_project(draft, call.api.now_us());
  if (!made && call.api.store.find_project(draft.name)) {  // another client was faster
    return refuse(Code::ResourceAlreadyExists,
                  fmt::format("Experiment(name={}) already exists.", draft.name));
  }
  if (!made) {
    return std::unexpected(made.error());
  }
  return reply({{"experiment_id", std::to_string(made->id)}});
}

Outcome<Response> get_by_name(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("experiment_name"));
  KEDGE_TRY(check_access(call, name));
  const auto project = find_experiment(call, name);
  if (!project) {
    return refuse(Code::ResourceDoesNotExist,
                  fmt::format("Could not find experiment with name '{}'", name));
  }
  return reply({{"experiment", render_experiment(*project)}});
}

Outcome<Response> set_experiment_deleted(const Call& call, bool is_deleted) {
  const auto project = KEDGE_TRY(load_experiment(call));
  if ((project.deleted_us != 0) == is_deleted) {
    return std::unexpected(no_experiment(std::to_string(project.id)));
  }
  const std::int64_t now_us = call.api.now_us();
  KEDGE_TRY(
      call.api.store.patch_project(project.id, {.deleted_us = is_deleted ? now_us : 0}, now_us));
  return reply_empty();
}

Outcome<Response> remove_experiment(const Call& call) {
  return set_experiment_deleted(call, true);
}

Outcome<Response> restore_experiment(const Call& call) {
  return set_experiment_deleted(call, false);
}

Outcome<Response> update_experiment(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  const std::string name = KEDGE_TRY(call.fields.text("new_name"));
  if (name.empty()) {
    return reply_empty();
  }
  KEDGE_TRY(check_experiment_name(name));
  if (project.deleted_us != 0) {
    return refuse(Code::InvalidState, "Cannot rename a non-active experiment.");
  }
  if (name == project.name) {
    return reply_empty();
  }
  if (call.api.store.find_project(name)) {
    return refuse(Code::ResourceAlreadyExists,
                  fmt::format("Experiment(name={}) already exists.", name));
  }
  KEDGE_TRY(call.api.store.patch_project(project.id, {.name = name}, call.api.now_us()));
  return reply_empty();
}

Outcome<Response> set_experiment_tag(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(check_tags({{key, value}}));
  KEDGE_TRY(check_active(project));
  KEDGE_TRY(
      call.api.store.patch_project(project.id, {.labels = {{key, value}}}, call.api.now_us()));
  return reply_empty();
}

Outcome<Response> delete_experiment_tag(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  KEDGE_TRY(check_active(project));
  if (!project.labels.contains(key)) {
    return refuse(Code::ResourceDoesNotExist,
                  fmt::format("No tag with name: {} in experiment with id {}", key, project.id));
  }
  KEDGE_TRY(call.api.store.patch_project(project.id, {.labels = {{key, std::nullopt}}},
                                         call.api.now_us()));
  return reply_empty();
}

Listed experiment_value(const store::Project& project, Entity entity, const std::string& key) {
  if (entity == Entity::Tag) {
    return text_in(project.labels, key);
  }
  return key == "name"            ? Listed(project.name)
         : key == "experiment_id" ? Listed(static_cast<double>(project.id))
         : key == "creation_time" ? time_of(project.created_us)
                                  : time_of(project.changed_us);
}

Outcome<std::vector<OrderTerm>> read_experiment_order(const Fields& fields) {
  std::vector<OrderTerm> terms;
  for (const std::string& text : KEDGE_TRY(fields.texts("order_by"))) {
    terms.push_back(KEDGE_TRY(parse_order(text, kExperimentLanguage)));
    if (terms.back().entity != Entity::Attribute) {
      return refuse(fmt::format("Invalid order_by entity: {}", terms.back().key));
    }
  }
  if (terms.empty()) {
    terms.push_back({.key = "creation_time", .is_ascending = false});
    terms.push_back({.key = "experiment_id"});
  } else if (std::ranges::find(terms, "experiment_id", &OrderTerm::key) == terms.end()) {
    terms.push_back({.key = "experiment_id", .is_ascending = false});
  }
  return terms;
}

Outcome<Response> search_experiments(const Call& call) {
  const Page page = KEDGE_TRY(read_page(call.fields, 0, kMostFoundExperiments));
  const int view = KEDGE_TRY(call.fields.enumerated("view_type", kLifecycleViews, 1));
  const auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter")), kExperimentLanguage));
  const auto terms = KEDGE_TRY(read_experiment_order(call.fields));
  std::vector<store::Project> projects = call.api.store.list_projects();
  std::erase_if(projects, [&](const store::Project& project) {
    const bool is_shown = view == 3 || (project.deleted_us != 0) == (view == 2);
    return !is_shown || !check_access(call, project.name) ||
           !passes_all(clauses, project, experiment_value);
  });
  sort_by(projects, terms, experiment_value);
  nlohmann::json body = nlohmann::json::object();
  add_page(body, "experiments", page, projects.size(),
           [&](std::size_t i) { return render_experiment(with_root(call, projects[i])); });
  return reply(body);
}

}  // namespace

Outcome<http::Response> get_experiment(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  return reply({{"experiment", render_experiment(project)}});
}

std::optional<store::Project> find_experiment(const Call& call, const std::string& name) {
  auto project = call.api.store.find_project(name);
  return project ? std::optional(with_root(call, std::move(*project))) : std::nullopt;
}

std::optional<store::Project> find_experiment(const Call& call, std::int64_t id) {
  auto project = call.api.store.find_project(id);
  return project ? std::optional(with_root(call, std::move(*project))) : std::nullopt;
}

std::string join_location(const store::Project& project, std::string_view below) {
  std::string_view root = project.artifact_root;
  while (root.ends_with('/')) {
    root.remove_suffix(1);
  }
  return fmt::format("{}/{}", root, below);
}

Outcome<store::Project> load_experiment(const Call& call, std::string_view id) {
  const auto number = parse_integer(id);
  if (!number) {
    return refuse(
        fmt::format("Invalid experiment ID '{}'. Experiment ID must be a valid integer.", id));
  }
  auto project = find_experiment(call, *number);
  if (!project) {
    return std::unexpected(no_experiment(id));
  }
  KEDGE_TRY(check_access(call, project->name));
  return std::move(*project);
}

Outcome<store::Project> load_experiment(const Call& call) {
  return load_experiment(call, KEDGE_TRY(call.fields.need_text("experiment_id")));
}

Outcome<void> check_active(const store::Project& project) {
  if (project.deleted_us != 0) {
    return refuse(
        fmt::format("The experiment {} must be in the 'active' state. Current state is "
                    "deleted.",
                    project.id));
  }
  return {};
}

void add_experiment_calls(Calls& calls) {
  calls.write(Method::Post, "experiments/create", create_experiment);
  calls.read(Method::Get, "experiments/get", get_experiment);
  calls.read(Method::Get, "experiments/get-by-name", get_by_name);
  calls.write(Method::Post, "experiments/delete", remove_experiment);
  calls.write(Method::Post, "experiments/restore", restore_experiment);
  calls.write(Method::Post, "experiments/update", update_experiment);
  calls.write(Method::Post, "experiments/set-experiment-tag", set_experiment_tag);
  calls.write(Method::Post, "experiments/delete-experiment-tag", delete_experiment_tag);
  calls.read(Method::Post, "experiments/search", search_experiments);
  calls.read(Method::Get, "experiments/search", search_experiments);
}

}  // namespace kedge::mlflow
