// Who the client is, and what this server can do.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "wandb/internal/encoding.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_nodes;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

// What a client asks for only where it is told that it may.
constexpr std::array<std::string_view, 7> kFeatures = {
    "TOTAL_COUNT_IN_FILE_CONNECTION",
    "STRUCTURED_CONSOLE_LOGS",
    "USE_ARTIFACT_WITH_ENTITY_AND_PROJECT_INFORMATION",
    "ARTIFACT_MEMBERSHIP_IN_LINK_ARTIFACT_RESPONSE",
    "ARTIFACT_COLLECTIONS_FILTERING_SORTING",
    "SWEEPS_QUERY_FILTERING",
    "MARK_RUN_FILES_UPLOADED",
};

struct Feature {
  std::string name;
};

struct ServerInfo {};

struct Organization {};

struct ApiKey {
  std::string id;
};

void declare_user(graphql::Schema& schema) {
  TypeBuilder<ApiKey>(schema, "ApiKey")
      .leaf("id", &ApiKey::id)
      .leaf("name", &ApiKey::id)
      .leaf("description", [](const ApiKey&) { return json(); });
  declare_connection(schema, "ApiKey", "ApiKey");
  declare_connection(schema, "Entity", "Entity");
  declare_connection(schema, "User", "User");
  TypeBuilder<UserNode>(schema, "User")
      .leaf("id", [](const UserNode& user) { return render_id("User", user.name); })
      .leaf("name", &UserNode::name)
      .leaf("username", &UserNode::name)
      .leaf("email", [](const UserNode&) { return ""; })
      .leaf(
          "admin",
          [](const UserNode& user) { return user.call->request.caller.role == http::Role::Admin; })
      .leaf("flags", [](const UserNode&) { return R"({"code_saving_enabled": true})"; })
      .leaf("entity", &UserNode::name)
      .leaf("deletedAt", [](const UserNode&) { return json(); })
      .object("defaultEntity", "Entity",
              [](const UserNode& user) { return EntityNode{user.call, user.name}; })
      .object("organizations", "Organization",
              [](const UserNode&) { return make_nodes<Organization>({}); })
      .object("apiKeys", "ApiKeyConnection",
              [](const UserNode&) { return make_page<ApiKey>({}, {}); })
      .object("teams", "EntityConnection", [](const UserNode& user) {
        return make_page<EntityNode>({{user.call, user.name}}, {.limit = 1});
      });
}

void declare_entity(graphql::Schema& schema) {
  TypeBuilder<Organization>(schema, "Organization")
      .leaf("id", [](const Organization&) { return ""; })
      .leaf("name", [](const Organization&) { return ""; })
      .leaf("coreWeaveOrganizationId", [](const Organization&) { return json(); })
      .object("orgEntity", "Entity", [](const Organization&) { return Value(json()); });
  TypeBuilder<EntityNode>(schema, "Entity")
      .leaf("id", [](const EntityNode& entity) { return render_id("Entity", entity.name); })
      .leaf("name", &EntityNode::name)
      .leaf("isTeam", [](const EntityNode&) { return false; })
      .leaf("codeSavingEnabled", [](const EntityNode&) { return true; })
      .leaf("xxhashDigestsEnabled", [](const EntityNode&) { return false; })
      .object("organization", "Organization", [](const EntityNode&) { return Value(json()); })
      .object("user", "User",
              [](const EntityNode& entity) { return UserNode{entity.call, entity.name}; });
}

}  // namespace

void declare_viewer(graphql::Schema& schema) {
  declare_user(schema);
  declare_entity(schema);
  TypeBuilder<Feature>(schema, "ServerFeature")
      .leaf("name", &Feature::name)
      .leaf("isEnabled", [](const Feature&) { return true; });
  // Of W&B's own server; older clients ask for it.
  TypeBuilder<ServerInfo>(schema, "LatestLocalVersionInfo")
      .leaf("outOfDate", [](const ServerInfo&) { return false; })
      .leaf("latestVersionString", [](const ServerInfo&) { return ""; })
      .leaf("versionOnThisInstanceString", [](const ServerInfo&) { return ""; });
  TypeBuilder<ServerInfo>(schema, "ServerInfo")
      .leaf("cliVersionInfo",
            [](const ServerInfo&) {
              return json{{"max_cli_version", "0.31.0"}, {"min_cli_version", "0.0.1"}};
            })
      .object("latestLocalVersionInfo", "LatestLocalVersionInfo",
              [](const ServerInfo&) { return Value(json()); })
      .leaf("exposesExplicitlyNullableFields", [](const ServerInfo&) { return true; })
      .object("features", "ServerFeature", [](const ServerInfo&) {
        std::vector<Feature> features;
        for (const std::string_view name : kFeatures) {
          features.push_back({std::string(name)});
        }
        return make_nodes(std::move(features));
      });
  TypeBuilder<Call>(schema, "Query")
      .object("viewer", "User", [](const Call& call) { return UserNode{&call, call.viewer()}; })
      .object("entity", "Entity",
              [](const Call& call, const Args& args) {
                return make_node(EntityNode{&call, call.entity_or_viewer(args.text("name"))});
              })
      .object("organization", "Organization", [](const Call&) { return Value(json()); })
      .object("users", "UserConnection",
              [](const Call& call, const Args& args) {
                const std::string query = args.text("query").value_or("");
                std::vector<UserNode> users;
                if (query == call.viewer()) {
                  users.push_back({&call, query});
                }
                return make_node(make_page(std::move(users), {.limit = 50}));
              })
      .object("serverInfo", "ServerInfo", [](const Call&) { return ServerInfo(); });
}

}  // namespace kedge::wandb
