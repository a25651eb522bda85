// The bytes of a version on its way: its files, and its manifest, put over another's.
#include <string>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/artifact_uploads.h"
#include "wandb/internal/blob_names.h"
#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {

using nlohmann::json;

namespace {

// The entries of a version's manifest; of one that has none yet, none.
Result<json> entries_of(const Call& call, const store::VersionDraft& draft) {
  if (draft.manifest.empty()) {
    return json::object();
  }
  const json manifest =
      KEDGE_TRY(parse_lenient(KEDGE_TRY(call.api.blobs.read_all(draft.manifest))));
  return manifest.is_object() ? manifest.value("contents", json::object()) : json::object();
}

Result<store::StoredBlob> merge_manifest(const Call& call, const store::VersionDraft& draft,
                                         const std::string& base) {
  const std::string text =
      call.request.body_file ? KEDGE_TRY(read_file(*call.request.body_file)) : call.request.body;
  json manifest = KEDGE_TRY(parse_lenient(text));
  if (!manifest.is_object()) {
    return fail(ErrorKind::Usage, "a manifest is a JSON object");
  }
  const auto from =
      base.empty() ? std::optional(draft) : KEDGE_TRY(load_artifact(call, base)).draft;
  json entries = from ? KEDGE_TRY(entries_of(call, *from)) : json::object();
  const json added = manifest.value("contents", json::object());
  if (!entries.is_object() || !added.is_object()) {
    return fail(ErrorKind::Usage, "the contents of a manifest are a JSON object");
  }
  for (const auto& [path, entry] : added.items()) {
    entries[path] = entry;
  }
  manifest["contents"] = std::move(entries);
  return call.api.blobs.put(manifest.dump());
}

}  // namespace

Result<void> take_draft_bytes(const Call& call, const json& meaning) {
  store::ArtifactDrafts drafts = drafts_of(call);
  const std::int64_t draft = meaning.at("draft").get<std::int64_t>();
  if (meaning.at("put") == "manifest") {
    const json over = meaning.value("over", json());
    const store::StoredBlob blob =
        KEDGE_TRY(over.is_string()
                      ? merge_manifest(call, KEDGE_TRY(drafts.find(draft)), over.get<std::string>())
                      : take_bytes(call, ""));
    return drafts.set_manifest(draft, blob.digest);
  }
  KEDGE_TRY(server::check_quota(call.api, call.request, KEDGE_TRY(drafts.find(draft)).project));
  const std::string md5 = meaning.at("md5").get<std::string>();
  const store::StoredBlob blob = KEDGE_TRY(take_bytes(call, md5));
  return drafts.put_files(draft,
                          {{meaning.at("path").get<std::string>(), md5, blob.digest, blob.size}});
}

}  // namespace kedge::wandb
