// Artifacts as requests look into them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "graphql/schema.h"
#include "store/artifacts.h"
#include "store/dialect/artifact_drafts.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {

store::ArtifactDrafts drafts_of(const Call& call);

// A version: one that is committed, one on its way, or one that no such client made, of which there
// is no draft.
struct ArtifactNode {
  const Call* call = nullptr;
  std::string entity = {};
  std::optional<store::ArtifactVersion> version = {};
  std::optional<store::VersionDraft> draft = {};

  const std::string& project() const { return version ? version->project : draft->project; }

  const std::string& name() const { return version ? version->name : draft->name; }

  std::string id() const;
};

// A sequence of versions, or a portfolio of links to versions.
struct CollectionNode {
  const Call* call = nullptr;
  std::string entity = {};
  std::string project = {};
  std::string name = {};
  std::string type = {};
  std::string description = {};
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
  std::optional<std::int64_t> portfolio = {};  // its row; nothing: a sequence
};

// A version as a member of a collection, where it has a number and aliases of its own.
struct MembershipNode {
  CollectionNode collection;
  ArtifactNode artifact;
  std::int64_t index = 0;
  std::vector<std::string> aliases = {};
  std::int64_t created_us = 0;
};

struct ArtifactTypeNode {
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

// One file of a version, with its content's name on the wire.
struct VersionFile {
  const Call* call = nullptr;
  store::ArtifactFile file = {};
  std::string md5 = {};
};

// NotFound for an id that is none, or of a project the caller may not see.
Result<ArtifactNode> load_artifact(const Call& call, const std::string& id);
Result<ArtifactNode> make_artifact(const Call& call, const std::string& entity,
                                   store::ArtifactVersion version);

// "name:alias", "name:v3", "name"; in a sequence or a portfolio. Nothing: there is none.
Result<std::optional<MembershipNode>> find_membership(const ProjectNode& project,
                                                      const std::string& name);
Result<std::optional<CollectionNode>> find_collection(const ProjectNode& project,
                                                      const std::string& name);
Result<std::vector<CollectionNode>> list_collections(const ProjectNode& project,
                                                     const std::string& type);
// Newest first.
Result<std::vector<MembershipNode>> list_members(const CollectionNode& collection);
// All collections that a version is in, its sequence first.
Result<std::vector<MembershipNode>> list_memberships(const ArtifactNode& artifact);

// Those that a version has in one collection.
std::vector<AliasNode> aliases_of(const MembershipNode& member);
std::vector<TagNode> make_tags(const std::vector<std::string>& names);
ProjectNode project_of(const CollectionNode& collection);
// The files that the request asks for by `names`, a page of them.
Result<graphql::Value> files_of(const ArtifactNode& artifact, const graphql::Args& args);

Result<std::vector<VersionFile>> list_version_files(const ArtifactNode& artifact);
std::string file_url(const VersionFile& file);
// Of the client's own manifest, or of one that is made when it is asked for.
std::string manifest_url(const ArtifactNode& artifact);
// A manifest for files that no such client sent.
Result<std::string> render_manifest(const ArtifactNode& artifact);

void declare_artifacts(graphql::Schema& schema);             // artifacts.cc
void declare_artifact_collections(graphql::Schema& schema);  // artifact_collections.cc
void declare_artifact_lists(graphql::Schema& schema);        // artifact_lists.cc
void declare_artifact_uploads(graphql::Schema& schema);      // artifact_uploads.cc
void declare_artifact_changes(graphql::Schema& schema);      // artifact_changes.cc

}  // namespace kedge::wandb
