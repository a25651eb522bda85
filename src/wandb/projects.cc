// Projects. A project is one project whatever the entity before its name.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "wandb/internal/encoding.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_node_or_null;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct UpsertedModel {
  ProjectNode project;
  bool is_inserted = false;
};

store::Project facts_of(const ProjectNode& project) {
  return project.call->api.store.find_project(project.name).value_or(store::Project());
}

std::vector<ProjectNode> list_projects(const Call& call, const std::string& entity) {
  std::vector<ProjectNode> projects;
  for (const store::Project& project : call.api.store.list_projects()) {
    if (project.deleted_us == 0 && call.check(project.name) &&
        (project.id != store::kDefaultProject || project.run_count > 0)) {
      projects.push_back({&call, project.name, entity});
    }
  }
  std::ranges::reverse(projects);  // newest first
  return projects;
}

Result<Value> upsert_model(const Call& call, const Args& args) {
  const Args input = args.input();
  const std::string name = project_or_default(input.text("name"));
  KEDGE_TRY(call.check(name));
  const bool is_there = call.api.store.find_project(name).has_value();
  if (!is_there) {
    KEDGE_TRY(call.api.store.create_project({.name = name}, call.now_us()));
  }
  return make_node(
      UpsertedModel{{&call, name, call.entity_or_viewer(input.text("entityName"))}, !is_there});
}

}  // namespace

void declare_projects(graphql::Schema& schema) {
  TypeBuilder<ProjectNode>(schema, "Project")
      .leaf("id", [](const ProjectNode& project) { return render_id("Project", project.name); })
      .leaf("internalId",
            [](const ProjectNode& project) { return std::to_string(facts_of(project).id); })
      .leaf("name", &ProjectNode::name)
      .leaf("entityName", &ProjectNode::entity)
      .leaf("createdAt",
            [](const ProjectNode& project) { return render_time(facts_of(project).created_us); })
      .leaf("isBenchmark", [](const ProjectNode&) { return false; })
      .leaf("readOnly",
            [](const ProjectNode& project) {
              return project.call->request.caller.role < http::Role::Write;
            })
      .leaf("description", [](const ProjectNode&) { return ""; })
      .leaf("access", [](const ProjectNode&) { return json(); })
      .leaf("views", [](const ProjectNode&) { return json(); })
      .object("entity", "Entity",
              [](const ProjectNode& project) { return EntityNode{project.call, project.entity}; })
      .object(
          "user", "User",
          [](const ProjectNode& project) { return UserNode{project.call, project.call->viewer()}; })
      .object("run", "Run",
              [](const ProjectNode& project, const Args& args) {
                return make_node_or_null(find_run(*project.call, project.entity,
                                                  {project.name, args.text("name").value_or("")}));
              })
      .object("bucket", "Run", [](const ProjectNode& project, const Args& args) {
        return make_node_or_null(find_run(*project.call, project.entity,
                                          {project.name, args.text("name").value_or("")}));
      });
  declare_connection(schema, "Project", "Project");
  const auto find = [](const Call& call, const Args& args) {
    return make_node_or_null(find_project(call, args));
  };
  TypeBuilder<Call>(schema, "Query")
      .object("project", "Project", find)
      .object("model", "Project", find)
      .object("models", "ProjectConnection", [](const Call& call, const Args& args) {
        const std::string entity = call.entity_or_viewer(args.text("entityName"));
        return make_node(make_page(list_projects(call, entity), parse_page(args)));
      });
  TypeBuilder<UpsertedModel>(schema, "UpsertModelPayload")
      .object("project", "Project", &UpsertedModel::project)
      .object("model", "Project", &UpsertedModel::project)
      .leaf("inserted", &UpsertedModel::is_inserted);
  TypeBuilder<Call>(schema, "Mutation").object("upsertModel", "UpsertModelPayload", upsert_model);
  schema.add_input("UpsertModelInput", "id name entityName description access");
}

}  // namespace kedge::wandb
