// What an artifact is to a client that reads it: versions, collections, memberships, files.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/portfolios.h"
#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_nodes;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

constexpr std::int64_t kNoTtl = -2;

struct TypeNode {
  ProjectNode project;
  std::string name;
};

struct AliasNode {
  CollectionNode collection;
  std::string alias;
};

struct TagNode {
  std::string name;
};

struct ManifestNode {
  ArtifactNode artifact;
};

struct ManifestFile {
  ArtifactNode artifact;
};

ProjectNode project_of(const CollectionNode& collection) {
  return {collection.call, collection.project, collection.entity};
}

CollectionNode sequence_of(const ArtifactNode& artifact) {
  CollectionNode sequence{artifact.call, artifact.entity, artifact.project(), artifact.name()};
  sequence.type = artifact.version ? artifact.version->type : artifact.draft->type;
  sequence.created_us = artifact.version ? artifact.version->created_us : 0;
  return sequence;
}

std::string render_digest(const ArtifactNode& artifact) {
  return artifact.draft ? artifact.draft->digest : artifact.version->digest;
}

std::string state_of(const ArtifactNode& artifact) {
  if (artifact.draft && artifact.draft->is_deleted) {
    return "DELETED";
  }
  return artifact.version ? "COMMITTED" : "PENDING";
}

json text_or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

// Those of every collection that it is in; "vN" is not among them.
Result<Value> aliases_of(const ArtifactNode& artifact) {
  std::vector<AliasNode> aliases;
  for (const MembershipNode& member : KEDGE_TRY(list_memberships(artifact))) {
    for (const std::string& alias : member.aliases) {
      aliases.push_back({member.collection, alias});
    }
  }
  return make_nodes(std::move(aliases));
}

std::vector<TagNode> make_tags(const std::vector<std::string>& names) {
  std::vector<TagNode> tags;
  for (const std::string& name : names) {
    tags.push_back({name});
  }
  return tags;
}

std::optional<store::RunKey> maker_of(const ArtifactNode& artifact) {
  return artifact.version ? artifact.version->made_by : artifact.draft->made_by;
}

Result<Value> created_by(const ArtifactNode& artifact) {
  const auto maker = maker_of(artifact);
  return maker ? graphql::make_node_or_null(find_run(*artifact.call, artifact.entity, *maker))
               : Value(json());
}

Result<Value> used_by(const ArtifactNode& artifact) {
  std::vector<RunNode> runs;
  if (artifact.version) {
    for (const store::RunKey& key :
         KEDGE_TRY(artifact.call->api.artifacts.users(*artifact.version))) {
      if (auto run = find_run(*artifact.call, artifact.entity, key)) {
        runs.push_back(std::move(*run));
      }
    }
  }
  return make_node(make_page(std::move(runs), {.limit = 10'000}));
}

Result<Value> files_of(const ArtifactNode& artifact, const Args& args) {
  const std::vector<std::string> names = args.texts("names");
  std::vector<VersionFile> files;
  for (VersionFile& file : KEDGE_TRY(list_version_files(artifact))) {
    if (names.empty() || std::ranges::find(names, file.file.path) != names.end()) {
      files.push_back(std::move(file));
    }
  }
  return make_node(make_page(std::move(files), parse_page(args)));
}

void declare_version(graphql::Schema& schema) {
  TypeBuilder<ArtifactNode>(schema, "Artifact")
      .leaf("id", [](const ArtifactNode& node) { return node.id(); })
      .leaf("state", state_of)
      .leaf("digest", render_digest)
      .leaf("digestAlgorithm", [](const ArtifactNode&) { return "MANIFEST_MD5"; })
      .leaf("commitHash", render_digest)
      .leaf("versionIndex",
            [](const ArtifactNode& node) {
              return node.version ? json(node.version->version) : json();
            })
      .leaf(
          "description",
          [](const ArtifactNode& node) {
            return text_or_null(node.version ? node.version->description : node.draft->description);
          })
      .leaf("metadata",
            [](const ArtifactNode& node) {
              return render_lenient(node.version ? node.version->metadata : node.draft->metadata);
            })
      .leaf("size", [](const ArtifactNode& node) { return node.version ? node.version->size : 0; })
      .leaf("storageBytes",
            [](const ArtifactNode& node) { return node.version ? node.version->size : 0; })
      .leaf("fileCount",
            [](const ArtifactNode& node) { return node.version ? node.version->file_count : 0; })
      .leaf("createdAt",
            [](const ArtifactNode& node) {
              return render_time(node.version ? node.version->created_us : node.draft->created_us);
            })
      .leaf("updatedAt",
            [](const ArtifactNode& node) {
              return node.draft ? json(render_time(node.draft->changed_us)) : json();
            })
      .leaf("ttlDurationSeconds",
            [](const ArtifactNode& node) {
              return node.draft ? node.draft->ttl_s.value_or(kNoTtl) : kNoTtl;
            })
      .leaf("ttlIsInherited", [](const ArtifactNode&) { return false; })
      .leaf("historyStep", [](const ArtifactNode& node) {
        return node.draft && node.draft->history_step ? json(*node.draft->history_step) : json();
      });
}

void declare_version_links(graphql::Schema& schema) {
  TypeBuilder<ArtifactNode>(schema, "Artifact")
      .object("aliases", "ArtifactAlias", aliases_of)
      .object("tags", "Tag",
              [](const ArtifactNode& node) {
                return make_nodes(
                    make_tags(node.draft ? node.draft->tags : std::vector<std::string>()));
              })
      .object("artifactSequence", "ArtifactCollection",
              [](const ArtifactNode& node) { return make_node(sequence_of(node)); })
      .object("artifactType", "ArtifactType",
              [](const ArtifactNode& node) {
                const CollectionNode sequence = sequence_of(node);
                return make_node(TypeNode{project_of(sequence), sequence.type});
              })
      .object("createdBy", "Run", created_by)
      .object("usedBy", "RunConnection", used_by)
      .object("currentManifest", "ArtifactManifest",
              [](const ArtifactNode& node) { return make_node(ManifestNode{node}); })
      .object("files", "VersionFileConnection", files_of)
      .object("artifactMemberships", "ArtifactCollectionMembershipConnection",
              [](const ArtifactNode& node) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_memberships(node)), {.limit = 10'000}));
              });
  TypeBuilder<ManifestNode>(schema, "ArtifactManifest")
      .leaf("id", [](const ManifestNode& node) { return node.artifact.id(); })
      .leaf("digest", [](const ManifestNode& node) { return render_digest(node.artifact); })
      .object("file", "ManifestFile",
              [](const ManifestNode& node) { return make_node(ManifestFile{node.artifact}); });
  TypeBuilder<ManifestFile>(schema, "ManifestFile")
      .leaf("id", [](const ManifestFile& file) { return file.artifact.id(); })
      .leaf("directUrl", [](const ManifestFile& file) { return manifest_url(file.artifact); })
      .leaf("url", [](const ManifestFile& file) { return manifest_url(file.artifact); })
      .name_of([](const ManifestFile&) { return "File"; })
      .also("File");
}

void declare_file(graphql::Schema& schema) {
  TypeBuilder<VersionFile>(schema, "VersionFile")
      .leaf("id",
            [](const VersionFile& file) {
              return render_id("ArtifactFile", file.file.digest + file.file.path);
            })
      .leaf("name", [](const VersionFile& file) { return file.file.path; })
      .leaf("displayName", [](const VersionFile& file) { return file.file.path; })
      .leaf("url", file_url)
      .leaf("directUrl", file_url)
      .leaf("sizeBytes", [](const VersionFile& file) { return file.file.size; })
      .leaf("storagePath", [](const VersionFile& file) { return file.file.path; })
      .leaf("mimetype",
            [](const VersionFile& file) { return server::content_type_of(file.file.path); })
      .leaf("updatedAt", [](const VersionFile&) { return json(); })
      .leaf("digest", [](const VersionFile& file) { return file.md5; })
      .leaf("md5", [](const VersionFile& file) { return file.md5; })
      .name_of([](const VersionFile&) { return "File"; })
      .also("File");
  declare_connection(schema, "VersionFile", "VersionFile");
}

void declare_collection(graphql::Schema& schema) {
  TypeBuilder<CollectionNode>(schema, "ArtifactCollection")
      .name_of([](const CollectionNode& node) {
        return node.portfolio ? "ArtifactPortfolio" : "ArtifactSequence";
      })
      .leaf("id",
            [](const CollectionNode& node) {
              return render_id("ArtifactCollection", node.name + ":" + node.project);
            })
      .leaf("name", [](const CollectionNode& node) { return node.name; })
      .leaf("description",
            [](const CollectionNode& node) { return text_or_null(node.description); })
      .leaf("createdAt", [](const CollectionNode& node) { return render_time(node.created_us); })
      .leaf("updatedAt", [](const CollectionNode& node) { return render_time(node.changed_us); })
      .leaf("state", [](const CollectionNode&) { return "READY"; })
      .object("project", "Project",
              [](const CollectionNode& node) { return make_node(project_of(node)); })
      .object("defaultArtifactType", "ArtifactType",
              [](const CollectionNode& node) {
                return make_node(TypeNode{project_of(node), node.type});
              })
      .object(
          "artifactTypes", "ArtifactTypeConnection",
          [](const CollectionNode& node) {
            return make_node(make_page<TypeNode>({{project_of(node), node.type}}, {.limit = 1}));
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
                  for (const std::string& alias : member.aliases) {
                    aliases.push_back({node, alias});
                  }
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
      .leaf("versionIndex", [](const MembershipNode& node) { return node.index; })
      .leaf("createdAt", [](const MembershipNode& node) { return render_time(node.created_us); })
      .object("aliases", "ArtifactAlias",
              [](const MembershipNode& node) {
                std::vector<AliasNode> aliases;
                for (const std::string& alias : node.aliases) {
                  aliases.push_back({node.collection, alias});
                }
                return make_nodes(std::move(aliases));
              })
      .object("artifactCollection", "ArtifactCollection",
              [](const MembershipNode& node) { return make_node(node.collection); })
      .object("artifact", "Artifact",
              [](const MembershipNode& node) { return make_node(node.artifact); })
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
      .leaf("alias", [](const AliasNode& node) { return node.alias; })
      .object("artifactCollection", "ArtifactCollection",
              [](const AliasNode& node) { return make_node(node.collection); });
  declare_connection(schema, "ArtifactAlias", "ArtifactAlias");
  TypeBuilder<TagNode>(schema, "Tag")
      .leaf("id", [](const TagNode& node) { return render_id("Tag", node.name); })
      .leaf("name", [](const TagNode& node) { return node.name; })
      .leaf("tagCategoryName", [](const TagNode&) { return json(); });
  declare_connection(schema, "Tag", "Tag");
}

void declare_type(graphql::Schema& schema) {
  TypeBuilder<TypeNode>(schema, "ArtifactType")
      .leaf("id",
            [](const TypeNode& node) {
              return render_id("ArtifactType", node.name + ":" + node.project.name);
            })
      .leaf("name", [](const TypeNode& node) { return node.name; })
      .leaf("description", [](const TypeNode&) { return json(); })
      .leaf("createdAt", [](const TypeNode&) { return render_time(0); })
      .object("artifactCollections", "ArtifactCollectionConnection",
              [](const TypeNode& node, const Args& args) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_collections(node.project, node.name)),
                                           parse_page(args)));
              })
      .object("artifactCollection", "ArtifactCollection",
              [](const TypeNode& node, const Args& args) -> Result<Value> {
                auto found =
                    KEDGE_TRY(find_collection(node.project, args.text("name").value_or("")));
                return found && found->type == node.name ? Value(make_node(std::move(*found)))
                                                         : Value(json());
              })
      .object("artifact", "Artifact", [](const TypeNode& node, const Args& args) -> Result<Value> {
        auto found = KEDGE_TRY(find_membership(node.project, args.text("name").value_or("")));
        return found && found->collection.type == node.name
                   ? Value(make_node(std::move(found->artifact)))
                   : Value(json());
      });
  declare_connection(schema, "ArtifactType", "ArtifactType");
  declare_connection(schema, "ArtifactCollection", "ArtifactCollection");
  TypeBuilder<ProjectNode>(schema, "Project")
      .object("artifactTypes", "ArtifactTypeConnection",
              [](const ProjectNode& node, const Args& args) -> Result<Value> {
                std::vector<TypeNode> types;
                for (const CollectionNode& each : KEDGE_TRY(list_collections(node, ""))) {
                  if (std::ranges::find(types, each.type, &TypeNode::name) == types.end()) {
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
                           : make_node(TypeNode{node, name});
              });
}

}  // namespace

void declare_artifacts(graphql::Schema& schema) {
  declare_version(schema);
  declare_version_links(schema);
  declare_file(schema);
  declare_collection(schema);
  declare_member_edges(schema);
  declare_membership(schema);
  declare_type(schema);
}

}  // namespace kedge::wandb
