#include "wandb/internal/blob_names.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base64.h"
#include "core/hash.h"
#include "core/hex.h"
#include "core/md5.h"
#include "store/series.h"
#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/artifact_uploads.h"
#include "wandb/internal/encoding.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

Result<std::string> take_md5(const Call& call, const std::string& digest) {
  if (const auto path = call.api.blobs.find_path(digest)) {
    return md5_of_file(*path);
  }
  Md5 md5;
  KEDGE_TRY(call.api.blobs.read(digest, {}, [&](std::string_view bytes) -> Result<void> {
    md5.add(as_bytes(bytes));
    return {};
  }));
  const auto raw = md5.finish();
  return encode_base64({reinterpret_cast<const char*>(raw.data()), raw.size()});
}

Result<json> parse_token(const Call& call) {
  return call.links.parse(call.request.parameter("token"), call.now_us());
}

}  // namespace

Result<std::string> find_md5(const Call& call, const std::string& digest) {
  const store::ArtifactDrafts drafts = drafts_of(call);
  if (auto known = KEDGE_TRY(drafts.find_md5(digest))) {
    return std::move(*known);
  }
  std::string md5 = KEDGE_TRY(take_md5(call, digest));
  KEDGE_TRY(drafts.put_md5(digest, md5));
  return md5;
}

Result<store::StoredBlob> take_bytes(const Call& call, const std::string& expected_md5) {
  const http::Request& request = call.request;
  const std::string md5 =
      request.body_file ? KEDGE_TRY(md5_of_file(*request.body_file)) : md5_of(request.body);
  if (!expected_md5.empty() && md5 != expected_md5) {
    return fail(ErrorKind::Corrupt,
                fmt::format("the bytes have the MD5 {}, not {}", md5, expected_md5));
  }
  // A small or empty body may not have been spooled.
  store::StoredBlob blob = KEDGE_TRY(request.body_file ? call.api.blobs.put_file(*request.body_file)
                                                       : call.api.blobs.put(request.body));
  KEDGE_TRY(drafts_of(call).put_md5(blob.digest, md5));
  return blob;
}

Result<void> unbind_file(const Call& call, const store::RunKey& key, const std::string& path) {
  const auto file = KEDGE_TRY(call.api.store.find_file(key, path));
  if (!file) {
    return {};
  }
  KEDGE_TRY(call.api.store.unbind_files(key, {path}));
  KEDGE_TRY(call.api.artifacts.free_unused({file->digest}));
  return {};
}

Result<http::Response> put_signed(const Call& call) {
  const json meaning = KEDGE_TRY(parse_token(call));
  const std::string what = meaning.value("put", "");
  const auto kept = call.api.artifacts.keep_blobs();
  if (what == "run") {
    const store::RunKey key{meaning.at("project"), meaning.at("run")};
    KEDGE_TRY(server::check_quota(call.api, call.request, key.project));
    const store::StoredBlob blob = KEDGE_TRY(take_bytes(call, ""));
    KEDGE_TRY(call.api.store.bind_file(key, {meaning.at("path"), blob.size, blob.digest}));
  } else if (what == "file" || what == "manifest") {
    KEDGE_TRY(take_draft_bytes(call, meaning));
  } else {
    return fail(ErrorKind::NotFound, "nothing is sent to this address");
  }
  return http::json_response("{}");
}

Result<http::Response> get_signed(const Call& call) {
  const json meaning = KEDGE_TRY(parse_token(call));
  if (meaning.contains("manifest")) {
    return http::json_response(KEDGE_TRY(
        render_manifest(KEDGE_TRY(load_artifact(call, meaning["manifest"].get<std::string>())))));
  }
  const std::string digest = meaning.value("get", "");
  const auto size = digest.empty() ? std::nullopt : KEDGE_TRY(call.api.blobs.find_size(digest));
  if (!size) {
    return fail(ErrorKind::NotFound, "there are no bytes at this address");
  }
  http::Response response = KEDGE_TRY(
      server::blob_response(call.api, call.request,
                            {.path = meaning.value("name", ""), .size = *size, .digest = digest}));
  response.headers.add("Access-Control-Allow-Origin", "*");  // `wandb verify` looks for it
  return response;
}

Result<http::Response> get_by_digest(const Call& call) {
  const auto raw = parse_hex(call.request.parameter("digest"));
  const auto bytes = raw ? KEDGE_TRY(drafts_of(call).find_bytes(encode_base64(*raw),
                                                                call.request.parameter("project")))
                         : std::nullopt;
  if (!bytes) {
    return fail(ErrorKind::NotFound, "no artifact of the project has such bytes");
  }
  return server::blob_response(
      call.api, call.request,
      {.path = call.request.parameter("name"), .size = bytes->size, .digest = bytes->digest});
}

}  // namespace kedge::wandb
