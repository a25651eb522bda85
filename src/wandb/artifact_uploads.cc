// How a version comes: announced, its files and its manifest sent to signed addresses, committed.
#include "wandb/internal/artifact_uploads.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct MadeArtifact {
  ArtifactNode artifact;
};

// A manifest on its way has no id of its own: it is its version's.
struct MadeManifest {
  ArtifactNode artifact;
  json over = {};  // whose entries it is put over: a base version's id, or its own ("")
};

struct UploadAddress {
  std::string id;
  std::string url;
};

struct MadeFile {
  ArtifactNode holder;  // the version that has the bytes
  std::string path;
  json url;  // null: the bytes are here
};

struct MadeFiles {
  std::vector<MadeFile> files;
};

std::vector<std::string> names_in(const json& list, const char* field) {
  std::vector<std::string> names;
  if (list.is_array()) {
    for (const json& item : list) {
      if (item.is_object() && item.contains(field) && item[field].is_string()) {
        names.push_back(item[field].get<std::string>());
      } else if (item.is_string()) {
        names.push_back(item.get<std::string>());
      }
    }
  }
  return names;
}

Result<store::VersionDraft> make_draft(const Args& input) {
  store::VersionDraft draft;
  draft.project = project_or_default(input.text("projectName"));
  draft.name = input.text("artifactCollectionName").value_or("");
  const auto names = input.texts("artifactCollectionNames");
  if (draft.name.empty() && !names.empty()) {
    draft.name = names.front();
  }
  draft.type = input.text("artifactTypeName").value_or("");
  draft.digest = input.text("digest").value_or("");
  draft.description = input.text("description").value_or("");
  if (const auto metadata = input.text("metadata"); metadata && !metadata->empty()) {
    draft.metadata = KEDGE_TRY(parse_lenient(*metadata));
  }
  draft.aliases = names_in(input.value("aliases"), "alias");
  draft.tags = names_in(input.value("tags"), "tagName");
  draft.ttl_s = input.number("ttlDurationSeconds");
  if (const auto run = input.text("runName"); run && !run->empty()) {
    draft.made_by = store::RunKey{draft.project, *run};
  }
  draft.client_id = input.text("clientID").value_or("");
  draft.sequence_client_id = input.text("sequenceClientID").value_or("");
  draft.history_step = input.number("historyStep");
  if (draft.name.empty() || draft.type.empty()) {
    return fail(ErrorKind::Usage, "an artifact needs a name and a type");
  }
  return draft;
}

// The newest version, when it has the same content.
Result<std::optional<ArtifactNode>> find_equal(const Call& call, const std::string& entity,
                                               const store::VersionDraft& draft) {
  auto newest = call.api.artifacts.find(draft.project, draft.name, "latest");
  if (!newest) {
    return newest.error().kind == ErrorKind::NotFound
               ? Result<std::optional<ArtifactNode>>(std::nullopt)
               : std::unexpected(newest.error());
  }
  ArtifactNode node = KEDGE_TRY(make_artifact(call, entity, std::move(*newest)));
  if (!node.draft || node.draft->digest != draft.digest || draft.digest.empty()) {
    return std::nullopt;
  }
  return node;
}

Result<Value> create_artifact(const Call& call, const Args& args) {
  const Args input = args.input();
  const store::VersionDraft draft = KEDGE_TRY(make_draft(input));
  KEDGE_TRY(call.check(draft.project));
  const std::string entity = call.entity_or_viewer(input.text("entityName"));
  if (auto equal = KEDGE_TRY(find_equal(call, entity, draft))) {
    for (const std::string& alias : draft.aliases) {
      if (alias != "latest") {
        KEDGE_TRY(call.api.artifacts.set_alias(*equal->version, alias));
      }
    }
    return make_node(MadeArtifact{std::move(*equal)});
  }
  return make_node(
      MadeArtifact{{&call, entity, {}, KEDGE_TRY(drafts_of(call).create(draft, call.now_us()))}});
}

Result<ArtifactNode> load_pending(const Call& call, const Args& input, const char* name) {
  ArtifactNode node = KEDGE_TRY(load_artifact(call, input.text(name).value_or("")));
  if (!node.draft) {
    return fail(ErrorKind::Usage, "this version is complete: nothing is added to it");
  }
  return node;
}

// Whose entries an incremental manifest is put over: the base it names, or the newest version.
Result<std::string> find_base(const Call& call, const Args& input, const ArtifactNode& artifact) {
  const std::string named = input.text("baseArtifactID").value_or("");
  if (!named.empty()) {
    // Asked here, because the manifest itself comes without a key, to a signed address.
    KEDGE_TRY(load_artifact(call, named));
    return named;
  }
  auto newest = call.api.artifacts.find(artifact.draft->project, artifact.draft->name, "latest");
  if (!newest) {
    return "";
  }
  return KEDGE_TRY(make_artifact(call, "", std::move(*newest))).id();
}

// FULL is all there is; INCREMENTAL adds to a base version, PATCH to what has come so far.
Result<Value> create_manifest(const Call& call, const Args& args) {
  const Args input = args.input();
  MadeManifest made{KEDGE_TRY(load_pending(call, input, "artifactID"))};
  const std::string type = input.text("type").value_or("FULL");
  if (type == "INCREMENTAL") {
    made.over = KEDGE_TRY(find_base(call, input, made.artifact));
  } else if (type == "PATCH") {
    made.over = "";
  }
  return make_node(std::move(made));
}

// Only manifests that are not FULL are sent so.
Result<Value> update_manifest(const Call& call, const Args& args) {
  const Args input = args.input();
  MadeManifest made{KEDGE_TRY(load_pending(call, input, "artifactManifestID"))};
  made.over = KEDGE_TRY(find_base(call, input, made.artifact));
  return make_node(std::move(made));
}

std::string artifact_upload_url(const ArtifactNode& node, const std::string& path,
                                const std::string& md5) {
  return node.call->signed_url(
      {{"put", "file"}, {"draft", node.draft->id}, {"path", path}, {"md5", md5}}, path);
}

Result<Value> create_artifact_files(const Call& call, const Args& args) {
  const store::ArtifactDrafts drafts = drafts_of(call);
  MadeFiles made;
  std::map<std::string, ArtifactNode> artifacts;
  std::map<std::int64_t, std::vector<store::DraftFile>> known;
  const Args input = args.input();
  const json& list = input.value("artifactFiles");
  for (const json& item : list.is_array() ? list : json::array()) {
    const Args file(item);
    const std::string id = file.text("artifactID").value_or("");
    if (!artifacts.contains(id)) {
      artifacts[id] = KEDGE_TRY(load_pending(call, file, "artifactID"));
    }
    const ArtifactNode& artifact = artifacts[id];
    const std::string path = file.text("name").value_or("");
    const std::string md5 = file.text("md5").value_or("");
    const auto bytes = KEDGE_TRY(drafts.find_bytes(md5, call.request.caller.project));
    if (bytes) {
      known[artifact.draft->id].push_back({path, md5, bytes->digest, bytes->size});
      ArtifactNode holder{&call, artifact.entity, {}, KEDGE_TRY(drafts.find(bytes->draft))};
      made.files.push_back({std::move(holder), path, json()});
    } else {
      made.files.push_back({artifact, path, artifact_upload_url(artifact, path, md5)});
    }
  }
  for (const auto& [draft, files] : known) {
    KEDGE_TRY(drafts_of(call).put_files(draft, files));
  }
  return make_node(std::move(made));
}

// The files that the manifest names, found among what was sent and what older versions hold.
Result<std::vector<store::ArtifactFile>> find_manifest_files(const Call& call,
                                                             const store::VersionDraft& draft) {
  if (draft.manifest.empty()) {
    return fail(ErrorKind::Usage, "the manifest of the artifact has not come");
  }
  const json manifest =
      KEDGE_TRY(parse_lenient(KEDGE_TRY(call.api.blobs.read_all(draft.manifest))));
  std::map<std::string, store::DraftFile> sent;
  for (store::DraftFile& file : KEDGE_TRY(drafts_of(call).files(draft.id))) {
    sent[file.path] = std::move(file);
  }
  const json contents = manifest.is_object() ? manifest.value("contents", json()) : json();
  std::vector<store::ArtifactFile> files;
  for (const auto& [path, entry] : contents.items()) {
    const Args fields(entry);
    const std::string md5 = fields.text("digest").value_or("");
    const auto size = static_cast<std::uint64_t>(fields.number("size").value_or(0));
    if (const auto reference = fields.text("ref")) {
      files.push_back({.path = path, .digest = md5, .size = size, .reference = *reference});
      continue;
    }
    const auto found = sent.find(path);
    if (found != sent.end() && found->second.md5 == md5 && !found->second.digest.empty()) {
      files.push_back({.path = path, .digest = found->second.digest, .size = found->second.size});
      continue;
    }
    const auto known = KEDGE_TRY(drafts_of(call).find_bytes(md5, call.request.caller.project));
    if (!known) {
      return fail(ErrorKind::Usage, fmt::format("the bytes of '{}' have not come", path));
    }
    files.push_back({.path = path, .digest = known->digest, .size = known->size});
  }
  return files;
}

Result<Value> commit_artifact(const Call& call, const Args& args) {
  ArtifactNode node = KEDGE_TRY(load_pending(call, args.input(), "artifactID"));
  if (!node.version) {
    const auto kept = call.api.artifacts.keep_blobs();
    const auto files = KEDGE_TRY(find_manifest_files(call, *node.draft));
    node.draft = KEDGE_TRY(drafts_of(call).commit(node.draft->id, files, call.now_us()));
    node.version = KEDGE_TRY(call.api.artifacts.find(node.draft->project, node.draft->name,
                                                     std::to_string(*node.draft->version)));
  }
  return make_node(MadeArtifact{std::move(node)});
}

Result<Value> use_artifact(const Call& call, const Args& args) {
  const Args input = args.input();
  const ArtifactNode node = KEDGE_TRY(load_artifact(call, input.text("artifactID").value_or("")));
  if (!node.version) {
    return fail(ErrorKind::Usage, "this version is not complete yet");
  }
  const store::RunKey run{project_or_default(input.text("projectName")),
                          input.text("runName").value_or("")};
  KEDGE_TRY(call.check(run.project, run.id));
  KEDGE_TRY(call.api.artifacts.use(*node.version, run, call.now_us()));
  return make_node(MadeArtifact{node});
}

std::string manifest_upload(const MadeManifest& made) {
  const ArtifactNode& artifact = made.artifact;
  return artifact.call->signed_url(
      {{"put", "manifest"}, {"draft", artifact.draft->id}, {"over", made.over}},
      "wandb_manifest.json");
}

void declare_payloads(graphql::Schema& schema) {
  TypeBuilder<MadeArtifact>(schema, "ArtifactPayload")
      .object("artifact", "Artifact", &MadeArtifact::artifact)
      .leaf("clientMutationId", [](const MadeArtifact&) { return json(); })
      .also("CreateArtifactPayload");
  TypeBuilder<UploadAddress>(schema, "UploadAddress")
      .leaf("id", &UploadAddress::id)
      .leaf("uploadUrl", &UploadAddress::url)
      .leaf("uploadHeaders", [](const UploadAddress&) { return json::array(); })
      .leaf("name", [](const UploadAddress&) { return "wandb_manifest.json"; })
      .leaf("displayName", [](const UploadAddress&) { return "wandb_manifest.json"; })
      .name_of([](const UploadAddress&) { return "File"; })
      .also("File");
  TypeBuilder<MadeManifest>(schema, "UploadManifest")
      .leaf("id", [](const MadeManifest& made) { return made.artifact.id(); })
      .object("file", "UploadAddress",
              [](const MadeManifest& made) {
                return UploadAddress{made.artifact.id(), manifest_upload(made)};
              })
      .name_of([](const MadeManifest&) { return "ArtifactManifest"; })
      .also("ArtifactManifest");
  TypeBuilder<MadeManifest>(schema, "ManifestPayload")
      .object("artifactManifest", "UploadManifest", [](const MadeManifest& made) { return made; });
}

void declare_made_files(graphql::Schema& schema) {
  TypeBuilder<MadeFile>(schema, "UploadVersionFile")
      .leaf("id", [](const MadeFile& file) { return render_id("ArtifactFile", file.path); })
      .leaf("name", &MadeFile::path)
      .leaf("displayName", &MadeFile::path)
      .leaf("storagePath", &MadeFile::path)
      .leaf("uploadUrl", &MadeFile::url)
      .leaf("uploadHeaders", [](const MadeFile&) { return json::array(); })
      .object("uploadMultipartUrls", "MultipartUrls", [](const MadeFile&) { return Value(json()); })
      .object("artifact", "Artifact", &MadeFile::holder)
      .name_of([](const MadeFile&) { return "File"; })
      .also("File");
  // Files of any size come in one piece: there are no parts.
  TypeBuilder<UploadAddress>(schema, "MultipartPart")
      .leaf("partNumber", [](const UploadAddress&) { return json(); })
      .leaf("uploadUrl", [](const UploadAddress&) { return json(); });
  TypeBuilder<UploadAddress>(schema, "MultipartUrls")
      .leaf("uploadID", [](const UploadAddress&) { return json(); })
      .object("uploadUrlParts", "MultipartPart",
              [](const UploadAddress&) { return Value(json()); });
  declare_connection(schema, "UploadVersionFile", "UploadVersionFile");
  TypeBuilder<MadeFiles>(schema, "CreateArtifactFilesPayload")
      .object("files", "UploadVersionFileConnection", [](const MadeFiles& made) {
        return make_node(make_page(made.files, {.limit = made.files.size()}));
      });
}

}  // namespace

void declare_artifact_uploads(graphql::Schema& schema) {
  declare_payloads(schema);
  declare_made_files(schema);
  TypeBuilder<Call>(schema, "Mutation")
      .object("createArtifact", "ArtifactPayload", create_artifact)
      .object("createArtifactManifest", "ManifestPayload", create_manifest)
      .object("updateArtifactManifest", "ManifestPayload", update_manifest)
      .object("createArtifactFiles", "CreateArtifactFilesPayload", create_artifact_files)
      .object("commitArtifact", "ArtifactPayload", commit_artifact)
      .object("useArtifact", "ArtifactPayload", use_artifact);
  schema.add_input(
      "CreateArtifactInput",
      "entityName projectName runName description digest digestAlgorithm labels aliases "
      "metadata artifactTypeName artifactCollectionName artifactCollectionNames historyStep "
      "enableDigestDeduplication distributedID clientID sequenceClientID ttlDurationSeconds "
      "tags storageRegion clientMutationId");
  schema.add_input("CreateArtifactFileSpecInput",
                   "artifactID artifactManifestID name md5 mimetype uploadPartsInput");
  schema.add_input("UseArtifactInput",
                   "entityName projectName runName artifactID usedAs artifactEntityName "
                   "artifactProjectName clientMutationId");
  schema.add_input("CreateArtifactManifestInput",
                   "artifactID baseArtifactID name digest entityName projectName runName type "
                   "clientMutationId");
}

}  // namespace kedge::wandb
