#include "wandb/internal/artifact_nodes.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/dialect/portfolios.h"
#include "wandb/internal/blob_names.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

// Of a version that has no draft: "Artifact:v:3:name:project".
constexpr std::string_view kNative = "v:";

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

Result<ArtifactNode> load_native(const Call& call, std::string_view text) {
  const auto first = text.find(':');
  const auto second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return fail(ErrorKind::NotFound, "there is no such artifact");
  }
  const std::string project(text.substr(second + 1));
  KEDGE_TRY(call.check(project));
  return ArtifactNode{&call,
                      call.viewer(),
                      KEDGE_TRY(call.api.artifacts.find(
                          project, std::string(text.substr(first + 1, second - first - 1)),
                          std::string(text.substr(0, first)))),
                      {}};
}

CollectionNode make_sequence(const ProjectNode& project, const store::Artifact& artifact) {
  return {project.call,        project.entity,      project.name,
          artifact.name,       artifact.type,       artifact.description,
          artifact.created_us, artifact.changed_us, std::nullopt};
}

CollectionNode make_portfolio(const ProjectNode& project, const store::Portfolio& portfolio) {
  return {project.call,         project.entity,       project.name,
          portfolio.name,       portfolio.type,       portfolio.description,
          portfolio.created_us, portfolio.created_us, portfolio.id};
}

Result<std::vector<MembershipNode>> list_versions(const CollectionNode& collection) {
  std::vector<MembershipNode> members;
  for (store::ArtifactVersion& version :
       KEDGE_TRY(collection.call->api.artifacts.versions(collection.project, collection.name))) {
    MembershipNode member{.collection = collection,
                          .artifact = {},
                          .index = version.version,
                          .aliases = version.aliases,
                          .created_us = version.created_us};
    member.artifact =
        KEDGE_TRY(make_artifact(*collection.call, collection.entity, std::move(version)));
    members.push_back(std::move(member));
  }
  std::ranges::reverse(members);
  return members;
}

Result<MembershipNode> make_link(const CollectionNode& collection,
                                 const store::PortfolioMember& member) {
  store::ArtifactVersion version = KEDGE_TRY(collection.call->api.artifacts.find(
      member.project, member.name, std::to_string(member.version)));
  return MembershipNode{
      .collection = collection,
      .artifact = KEDGE_TRY(make_artifact(*collection.call, collection.entity, std::move(version))),
      .index = member.index,
      .aliases = member.aliases,
      .created_us = member.created_us};
}

bool is_named(const MembershipNode& member, const std::string& word) {
  return word == fmt::format("v{}", member.index) ||
         std::ranges::find(member.aliases, word) != member.aliases.end() ||
         (member.artifact.draft && member.artifact.draft->digest == word);
}

}  // namespace

store::ArtifactDrafts drafts_of(const Call& call) {
  return {call.api.store, call.api.artifacts};
}

std::string ArtifactNode::id() const {
  return draft ? render_id("Artifact", std::to_string(draft->id))
               : render_id("Artifact", fmt::format("{}{}:{}:{}", kNative, version->version,
                                                   version->name, version->project));
}

Result<ArtifactNode> make_artifact(const Call& call, const std::string& entity,
                                   store::ArtifactVersion version) {
  auto draft = KEDGE_TRY(drafts_of(call).find_version(version));
  return ArtifactNode{&call, entity, std::move(version), std::move(draft)};
}

Result<ArtifactNode> load_artifact(const Call& call, const std::string& id) {
  const auto text = parse_id("Artifact", id);
  if (text && text->starts_with(kNative)) {
    return load_native(call, std::string_view(*text).substr(kNative.size()));
  }
  const auto number = text ? parse_number(*text) : std::nullopt;
  if (!number) {
    return fail(ErrorKind::NotFound, fmt::format("'{}' is no artifact's id", id));
  }
  ArtifactNode node{&call, call.viewer(), {}, KEDGE_TRY(drafts_of(call).find(*number))};
  KEDGE_TRY(call.check(node.draft->project));
  if (node.draft->version && !node.draft->is_deleted) {
    node.version = KEDGE_TRY(call.api.artifacts.find(node.draft->project, node.draft->name,
                                                     std::to_string(*node.draft->version)));
  }
  return node;
}

Result<std::vector<CollectionNode>> list_collections(const ProjectNode& project,
                                                     const std::string& type) {
  std::vector<CollectionNode> found;
  for (const store::Artifact& artifact :
       KEDGE_TRY(project.call->api.artifacts.list(project.name, type))) {
    found.push_back(make_sequence(project, artifact));
  }
  for (const store::Portfolio& portfolio :
       KEDGE_TRY(store::Portfolios(project.call->api.store).list(project.name))) {
    if (type.empty() || portfolio.type == type) {
      found.push_back(make_portfolio(project, portfolio));
    }
  }
  return found;
}

Result<std::optional<CollectionNode>> find_collection(const ProjectNode& project,
                                                      const std::string& name) {
  for (CollectionNode& collection : KEDGE_TRY(list_collections(project, ""))) {
    if (collection.name == name) {
      return std::move(collection);
    }
  }
  return std::nullopt;
}

Result<std::vector<MembershipNode>> list_members(const CollectionNode& collection) {
  if (!collection.portfolio) {
    return list_versions(collection);
  }
  std::vector<MembershipNode> members;
  for (const store::PortfolioMember& member :
       KEDGE_TRY(store::Portfolios(collection.call->api.store).members(*collection.portfolio))) {
    members.push_back(KEDGE_TRY(make_link(collection, member)));
  }
  return members;
}

Result<std::optional<MembershipNode>> find_membership(const ProjectNode& project,
                                                      const std::string& name) {
  const auto colon = name.find(':');
  const std::string word = colon == std::string::npos ? "latest" : name.substr(colon + 1);
  const auto collection = KEDGE_TRY(find_collection(project, name.substr(0, colon)));
  if (!collection) {
    return std::nullopt;
  }
  for (MembershipNode& member : KEDGE_TRY(list_members(*collection))) {
    if (is_named(member, word)) {
      return std::move(member);
    }
  }
  return std::nullopt;
}

Result<std::vector<MembershipNode>> list_memberships(const ArtifactNode& artifact) {
  std::vector<MembershipNode> found;
  const ProjectNode project{artifact.call, artifact.project(), artifact.entity};
  if (!artifact.version) {
    return found;
  }
  if (auto own = KEDGE_TRY(find_membership(
          project, fmt::format("{}:v{}", artifact.name(), artifact.version->version)))) {
    found.push_back(std::move(*own));
  }
  const store::Portfolios portfolios(artifact.call->api.store);
  for (const store::PortfolioMember& member : KEDGE_TRY(portfolios.links(*artifact.version))) {
    if (const auto portfolio = KEDGE_TRY(portfolios.find(member.portfolio))) {
      const ProjectNode home{artifact.call, portfolio->project, artifact.entity};
      found.push_back(KEDGE_TRY(make_link(make_portfolio(home, *portfolio), member)));
    }
  }
  return found;
}

Result<std::vector<VersionFile>> list_version_files(const ArtifactNode& artifact) {
  std::vector<VersionFile> files;
  if (!artifact.version) {
    return files;
  }
  for (store::ArtifactFile& file :
       KEDGE_TRY(artifact.call->api.artifacts.files(*artifact.version))) {
    VersionFile node{artifact.call, std::move(file), {}};
    node.md5 = node.file.reference.empty() ? KEDGE_TRY(find_md5(*artifact.call, node.file.digest))
                                           : node.file.digest;
    files.push_back(std::move(node));
  }
  return files;
}

std::string file_url(const VersionFile& file) {
  if (!file.file.reference.empty()) {
    return file.file.reference;
  }
  return file.call->signed_url({{"get", file.file.digest}, {"name", file.file.path}},
                               file.file.path);
}

Result<std::string> render_manifest(const ArtifactNode& artifact) {
  json contents = json::object();
  for (const VersionFile& file : KEDGE_TRY(list_version_files(artifact))) {
    json entry = {{"digest", file.md5}, {"size", file.file.size}};
    if (file.file.reference.empty()) {
      entry["birthArtifactID"] = artifact.id();
    } else {
      entry["ref"] = file.file.reference;
    }
    contents[file.file.path] = std::move(entry);
  }
  return json{{"version", 1},
              {"storagePolicy", "wandb-storage-policy-v1"},
              {"storagePolicyConfig", {{"storageLayout", "V2"}}},
              {"contents", std::move(contents)}}
      .dump();
}

std::string manifest_url(const ArtifactNode& artifact) {
  const std::string name = "wandb_manifest.json";
  const std::string digest = artifact.draft ? artifact.draft->manifest : "";
  return artifact.call->signed_url(
      digest.empty() ? json{{"manifest", artifact.id()}} : json{{"get", digest}, {"name", name}},
      name);
}

}  // namespace kedge::wandb
