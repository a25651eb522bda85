// What a version of an artifact is to a client that reads it, with its manifest and its files.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

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

struct ManifestNode {
  ArtifactNode artifact;
};

struct ManifestFile {
  ArtifactNode artifact;
};

CollectionNode sequence_of(const ArtifactNode& artifact) {
  CollectionNode sequence{artifact.call, artifact.entity, artifact.project(), artifact.name()};
  sequence.type = artifact.version ? artifact.version->type : artifact.draft->type;
  sequence.created_us = artifact.version ? artifact.version->created_us : 0;
  return sequence;
}

std::string render_digest(const ArtifactNode& artifact) {
  return artifact.draft ? artifact.draft->digest : artifact.version->digest;
}

std::string state_of_artifact(const ArtifactNode& artifact) {
  if (artifact.draft && artifact.draft->is_deleted) {
    return "DELETED";
  }
  return artifact.version ? "COMMITTED" : "PENDING";
}

// Those of every collection that it is in; "vN" is not among them.
Result<Value> all_aliases_of(const ArtifactNode& artifact) {
  std::vector<AliasNode> aliases;
  for (const MembershipNode& member : KEDGE_TRY(list_memberships(artifact))) {
    std::ranges::copy(aliases_of(member), std::back_inserter(aliases));
  }
  return make_nodes(std::move(aliases));
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

void declare_version(graphql::Schema& schema) {
  TypeBuilder<ArtifactNode>(schema, "Artifact")
      .leaf("id", [](const ArtifactNode& node) { return node.id(); })
      .leaf("state", state_of_artifact)
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
      .object("aliases", "ArtifactAlias", all_aliases_of)
      .object("tags", "Tag",
              [](const ArtifactNode& node) {
                return make_nodes(
                    make_tags(node.draft ? node.draft->tags : std::vector<std::string>()));
              })
      .object("artifactSequence", "ArtifactCollection",
              [](const ArtifactNode& node) { return sequence_of(node); })
      .object("artifactType", "ArtifactType",
              [](const ArtifactNode& node) {
                const CollectionNode sequence = sequence_of(node);
                return make_node(ArtifactTypeNode{project_of(sequence), sequence.type});
              })
      .object("createdBy", "Run", created_by)
      .object("usedBy", "RunConnection", used_by)
      .object("currentManifest", "ArtifactManifest",
              [](const ArtifactNode& node) { return ManifestNode{node}; })
      .object("files", "VersionFileConnection", files_of)
      .object("artifactMemberships", "ArtifactCollectionMembershipConnection",
              [](const ArtifactNode& node) -> Result<Value> {
                return make_node(make_page(KEDGE_TRY(list_memberships(node)), {.limit = 10'000}));
              });
  TypeBuilder<ManifestNode>(schema, "ArtifactManifest")
      .leaf("id", [](const ManifestNode& node) { return node.artifact.id(); })
      .leaf("digest", [](const ManifestNode& node) { return render_digest(node.artifact); })
      .object("file", "ManifestFile",
              [](const ManifestNode& node) { return ManifestFile{node.artifact}; });
  TypeBuilder<ManifestFile>(schema, "ManifestFile")
      .leaf("id", [](const ManifestFile& file) { return file.artifact.id(); })
      .leaf("directUrl", [](const ManifestFile& file) { return manifest_url(file.artifact); })
      .leaf("url", [](const ManifestFile& file) { return manifest_url(file.artifact); })
      .name_of([](const ManifestFile&) { return "File"; })
      .also("File");
}

void declare_version_file(graphql::Schema& schema) {
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
            [](const VersionFile& file) { return http::content_type_of(file.file.path); })
      .leaf("updatedAt", [](const VersionFile&) { return json(); })
      .leaf("digest", &VersionFile::md5)
      .leaf("md5", &VersionFile::md5)
      .name_of([](const VersionFile&) { return "File"; })
      .also("File");
  declare_connection(schema, "VersionFile", "VersionFile");
}

}  // namespace

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

void declare_artifacts(graphql::Schema& schema) {
  declare_version(schema);
  declare_version_links(schema);
  declare_version_file(schema);
}

}  // namespace kedge::wandb
