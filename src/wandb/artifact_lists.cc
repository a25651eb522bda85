// The ways that lead to artifacts: by id, by name, from projects and runs.
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_node_or_null;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct ClientId {
  std::string server_id;
};

Result<Value> find_by_name(const ProjectNode& project, const Args& args) {
  auto found = KEDGE_TRY(find_membership(project, args.text("name").value_or("")));
  return found ? Value(make_node(std::move(found->artifact))) : Value(json());
}

Result<Value> find_by_id(const Call& call, const Args& args) {
  auto found = load_artifact(call, args.text("id").value_or(""));
  if (!found && found.error().kind == ErrorKind::NotFound) {
    return Value(json());
  }
  return make_node(KEDGE_TRY(std::move(found)));
}

Result<Value> find_collection_by_id(const Call& call, const Args& args) {
  const auto text = parse_id("ArtifactCollection", args.text("id").value_or(""));
  const auto colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos || !call.check(text->substr(colon + 1))) {
    return Value(json());
  }
  const ProjectNode project{&call, text->substr(colon + 1), call.viewer()};
  return make_node_or_null(KEDGE_TRY(find_collection(project, text->substr(0, colon))));
}

Result<Value> map_client_id(const Call& call, const Args& args) {
  const auto draft = KEDGE_TRY(drafts_of(call).find_client(args.text("clientID").value_or("")));
  if (!draft || !call.check(draft->project)) {
    return Value(json());
  }
  return make_node(ClientId{render_id("Artifact", std::to_string(draft->id))});
}

// What a run made, or used.
Result<std::vector<ArtifactNode>> artifacts_of(const RunNode& run, bool is_output) {
  const store::RunArtifacts artifacts = KEDGE_TRY(run.call().api.artifacts.of_run(run.key()));
  std::vector<ArtifactNode> found;
  for (const store::ArtifactVersion& version : is_output ? artifacts.made : artifacts.used) {
    found.push_back(KEDGE_TRY(make_artifact(run.call(), run.entity(), version)));
  }
  return found;
}

}  // namespace

void declare_artifact_lists(graphql::Schema& schema) {
  declare_connection(schema, "Artifact", "Artifact");
  TypeBuilder<ProjectNode>(schema, "Project")
      .object("artifact", "Artifact", find_by_name)
      .object("artifactCollection", "ArtifactCollection",
              [](const ProjectNode& node, const Args& args) -> Result<Value> {
                return make_node_or_null(
                    KEDGE_TRY(find_collection(node, args.text("name").value_or(""))));
              })
      .object(
          "artifactCollections", "ArtifactCollectionConnection",
          [](const ProjectNode& node, const Args& args) -> Result<Value> {
            return make_node(make_page(KEDGE_TRY(list_collections(node, "")), parse_page(args)));
          })
      .object("artifactCollectionMembership", "ArtifactCollectionMembership",
              [](const ProjectNode& node, const Args& args) -> Result<Value> {
                return make_node_or_null(
                    KEDGE_TRY(find_membership(node, args.text("name").value_or(""))));
              });
  TypeBuilder<RunNode>(schema, "Run")
      .object("outputArtifacts", "ArtifactConnection",
              [](const RunNode& run, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(artifacts_of(run, true)), parse_page(args)));
              })
      .object("inputArtifacts", "ArtifactConnection",
              [](const RunNode& run, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(artifacts_of(run, false)), parse_page(args)));
              });
  TypeBuilder<ClientId>(schema, "ClientIDMapping").leaf("serverID", &ClientId::server_id);
  TypeBuilder<Call>(schema, "Query")
      .object("artifact", "Artifact", find_by_id)
      .object("artifactCollection", "ArtifactCollection", find_collection_by_id)
      .object("clientIDMapping", "ClientIDMapping", map_client_id);
}

}  // namespace kedge::wandb
