// The collections that versions are in: sequences, portfolios, types, with aliases and tags.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/dialect/portfolios.h"
#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_nodes;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

void declare_collection(graphql::Schema& schema) {
  TypeBuilder<CollectionNode>(schema, "ArtifactCollection")
      .name_of([](const CollectionNode& node) {
        return node.portfolio ? "ArtifactPortfolio" : "ArtifactSequence";
      })
      .leaf("id",
            [](const CollectionNode& node) {
              return render_id("ArtifactCollection", node.name + ":" + node.project);
            })
      .leaf("name", &CollectionNode::name)
      .leaf("description",
            [](const CollectionNode& node) { return text_or_null(node.description); })
      .leaf("createdAt", [](const CollectionNode& node) { return render_time(node.created_us); })
      .leaf("updatedAt", [](const CollectionNode& node) { return render_time(node.changed_us); })
      .leaf("state", [](const CollectionNode&) { return "READY"; })
      .object("project", "Project", [](const CollectionNode& node) { return project_of(node); })
      .object(
          "defaultArtifactType", "ArtifactType",
          [](const CollectionNode& node) { return ArtifactTypeNode{project_of(node), node.type}; })
      .object("artifactTypes", "ArtifactTypeConnection",
              [](const CollectionNode& node) {
                return make_node(
                    make_page<ArtifactTypeNode>({{project_of(node), node.type}}, {.limit = 1}));
              })
      .object("tags", "TagConnection",
              [](const CollectionNode& node) -> Result<Value> {
                const auto tags = KEDGE_TRY(
                    store::Portfolios(node.call->api.store).tags(node.project, node.name));
                return make_node(make_page(make_tags(tags), {.limit = 10'000}));
              })
      .object("latestArtifact", "Artifact",
              [](const CollectionNode& node) -> Result<Value> {
                const auto members = KEDGE_TRY(list_members(node));
                return members.empty() ? Value(json()) : make_node(members.front().artifact);
              })
      .object("artifacts", "ArtifactMemberConnection",
              [](const CollectionNode& node, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_members(node)), parse_page(args)));
              })
      .object("artifactMemberships", "ArtifactCollectionMembershipConnection",
              [](const CollectionNode& node, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_members(node)), parse_page(args)));
              })
      .object("artifactMembership", "ArtifactCollectionMembership",
              [](const CollectionNode& node, const Args& args) -> Result<Value> {
                return graphql::make_node_or_null(KEDGE_TRY(find_membership(
                    project_of(node), node.name + ":" + args.text("aliasName").value_or(""))));
              })
      .object("aliases", "ArtifactAliasConnection",
              [](const CollectionNode& node, const Args& args) -> Result<Value> {
                std::vector<AliasNode> aliases;
                for (const MembershipNode& member : KEDGE_TRY(list_members(node))) {
                  std::ranges::copy(aliases_of(member), std::back_inserter(aliases));
                }
                return make_node(make_page(std::move(aliases), parse_page(args)));
              });
  schema.add_member("ArtifactSequence", "ArtifactCollection");
  schema.add_member("ArtifactPortfolio", "ArtifactCollection");
}

// In lists of a collection's versions an edge has a version beside its node.
void declare_member_edges(graphql::Schema& schema) {
  declare_connection(schema, "ArtifactMember", "Artifact");
  TypeBuilder<Edge>(schema, "ArtifactMemberEdge")
      .leaf("version",
            [](const Edge& edge) {
              const auto& member = *static_cast<const MembershipNode*>(edge.node.self.get());
              return fmt::format("v{}", member.index);
            })
      .object("node", "Artifact", [](const Edge& edge) {
        const auto& member = *static_cast<const MembershipNode*>(edge.node.self.get());
        return make_node(member.artifact);
      });
}

void declare_membership(graphql::Schema& schema) {
  TypeBuilder<MembershipNode>(schema, "ArtifactCollectionMembership")
      .leaf("id",
            [](const MembershipNode& node) {
              return render_id("ArtifactCollectionMembership",
                               fmt::format("{}:{}:{}", node.index, node.collection.name,
                                           node.collection.project));
            })
      .leaf("versionIndex", &MembershipNode::index)
      .leaf("createdAt", [](const MembershipNode& node) { return render_time(node.created_us); })
      .object("aliases", "ArtifactAlias",
              [](const MembershipNode& node) { return make_nodes(aliases_of(node)); })
      .object("artifactCollection", "ArtifactCollection", &MembershipNode::collection)
      .object("artifact", "Artifact", &MembershipNode::artifact)
      .object("files", "VersionFileConnection", [](const MembershipNode& node, const Args& args) {
        return files_of(node.artifact, args);
      });
  declare_connection(schema, "ArtifactCollectionMembership", "ArtifactCollectionMembership");
  TypeBuilder<AliasNode>(schema, "ArtifactAlias")
      .leaf("id",
            [](const AliasNode& node) {
              return render_id("ArtifactAlias",
                               fmt::format("{}:{}:{}", node.alias, node.collection.name,
                                           node.collection.project));
            })
      .leaf("alias", &AliasNode::alias)
      .object("artifactCollection", "ArtifactCollection", &AliasNode::collection);
  declare_connection(schema, "ArtifactAlias", "ArtifactAlias");
  TypeBuilder<TagNode>(schema, "Tag")
      .leaf("id", [](const TagNode& node) { return render_id("Tag", node.name); })
      .leaf("name", &TagNode::name)
      .leaf("tagCategoryName", [](const TagNode&) { return json(); });
  declare_connection(schema, "Tag", "Tag");
}

void declare_type(graphql::Schema& schema) {
  TypeBuilder<ArtifactTypeNode>(schema, "ArtifactType")
      .leaf("id",
            [](const ArtifactTypeNode& node) {
              return render_id("ArtifactType", node.name + ":" + node.project.name);
            })
      .leaf("name", &ArtifactTypeNode::name)
      .leaf("description", [](const ArtifactTypeNode&) { return json(); })
      .leaf("createdAt", [](const ArtifactTypeNode&) { return render_time(0); })
      .object("artifactCollections", "ArtifactCollectionConnection",
              [](const ArtifactTypeNode& node, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_collections(node.project, node.name)),
                                           parse_page(args)));
              })
      .object("artifactCollection", "ArtifactCollection",
              [](const ArtifactTypeNode& node, const Args& args) -> Result<Value> {
                auto found =
                    KEDGE_TRY(find_collection(node.project, args.text("name").value_or("")));
                return found && found->type == node.name ? Value(make_node(std::move(*found)))
                                                         : Value(json());
              })
      .object("artifact", "Artifact",
              [](const ArtifactTypeNode& node, const Args& args) -> Result<Value> {
                auto found =
                    KEDGE_TRY(find_membership(node.project, args.text("name").value_or("")));
                return found && found->collection.type == node.name
                           ? Value(make_node(std::move(found->artifact)))
                           : Value(json());
              });
  declare_connection(schema, "ArtifactType", "ArtifactType");
  declare_connection(schema, "ArtifactCollection", "ArtifactCollection");
  TypeBuilder<ProjectNode>(schema, "Project")
      .object("artifactTypes", "ArtifactTypeConnection",
              [](const ProjectNode& node, const Args& args) -> Result<Value> {
                std::vector<ArtifactTypeNode> types;
                for (const CollectionNode& each : KEDGE_TRY(list_collections(node, ""))) {
                  if (std::ranges::find(types, each.type, &ArtifactTypeNode::name) == types.end()) {
                    types.push_back({node, each.type});
                  }
                }
                return make_node(make_page(std::move(types), parse_page(args)));
              })
      .object("artifactType", "ArtifactType",
              [](const ProjectNode& node, const Args& args) -> Result<Value> {
                const std::string name = args.text("name").value_or("");
                return KEDGE_TRY(list_collections(node, name)).empty()
                           ? Value(json())
                           : make_node(ArtifactTypeNode{node, name});
              });
}

}  // namespace

std::vector<AliasNode> aliases_of(const MembershipNode& member) {
  std::vector<AliasNode> aliases;
  for (const std::string& alias : member.aliases) {
    aliases.push_back({member.collection, alias});
  }
  return aliases;
}

std::vector<TagNode> make_tags(const std::vector<std::string>& names) {
  std::vector<TagNode> tags;
  for (const std::string& name : names) {
    tags.push_back({name});
  }
  return tags;
}

ProjectNode project_of(const CollectionNode& collection) {
  return {collection.call, collection.project, collection.entity};
}

void declare_artifact_collections(graphql::Schema& schema) {
  declare_collection(schema);
  declare_member_edges(schema);
  declare_membership(schema);
  declare_type(schema);
}

}  // namespace kedge::wandb
