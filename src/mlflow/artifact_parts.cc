// Uploads in parts, for files so large that one request is a risk. Parts lie on a shelf of their
// upload until all are there, so that a restart in the middle costs nothing, and are put together
// then. Blobs in files need no parts: there the protocol lets us say so (501), and clients send the
// whole.
#include "mlflow/internal/artifact_parts.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/random_text.h"
#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr std::uint64_t kMaxPartBytes = 5ULL << 30U;  // as on S3
constexpr std::int64_t kMaxParts = 10'000;

Outcome<void> need_parts(const Call& call) {
  if (!call.state.takes_parts) {
    return refuse(Code::NotImplemented,
                  "Multipart upload is not supported for the current artifact repository");
  }
  return {};
}

// The folder is in the address, the file's name in the body, with the client's own folders.
Outcome<FilePlace> place_of_upload(const Call& call) {
  KEDGE_TRY(need_parts(call));
  const std::string local = KEDGE_TRY(call.fields.need_text("path"));
  const std::string name = local.substr(local.find_last_of('/') + 1);
  const std::string path = call.request.parameter("path") + "/" + name;
  FilePlace place = KEDGE_TRY(locate(call, KEDGE_TRY(check_path(path))));
  if (name.empty() || place.path.empty()) {
    return refuse("Invalid path");
  }
  return place;
}

Outcome<Response> create_upload(const Call& call) {
  KEDGE_TRY(place_of_upload(call));
  const std::int64_t count = KEDGE_TRY(call.fields.need_integer("num_parts"));
  if (count < 1 || count > kMaxParts) {
    return refuse(fmt::format("num_parts must be 1 to {}, not {}", kMaxParts, count));
  }
  const std::string id = make_random_word(16);
  const auto host = call.request.headers.find("host").value_or("localhost");
  // Parts are put with the right that the caller has shown.
  nlohmann::json headers = nlohmann::json::object();
  if (const auto login = call.request.headers.find("authorization")) {
    headers["Authorization"] = *login;
  }
  nlohmann::json credentials = nlohmann::json::array();
  for (std::int64_t part = 1; part <= count; ++part) {
    credentials.push_back(
        {{"url", fmt::format("http{}://{}/api/2.0/mlflow-artifacts/mpu/part/{}/{}",
                             call.request.is_secure ? "s" : "", host, id, part)},
         {"part_number", part},
         {"headers", headers}});
  }
  return reply({{"upload_id", id}, {"credentials", std::move(credentials)}});
}

FilePlace part_place(const std::string& upload, const std::string& number) {
  return {.owner = {.run = {}, .shelf = "parts/" + upload}, .path = number};
}

Outcome<Response> put_part(const Call& call) {
  KEDGE_TRY(need_parts(call));
  const std::string digest = KEDGE_TRY(put_body(
      call, part_place(call.request.parameter("upload"), call.request.parameter("number"))));
  Response response;
  response.headers.add("ETag", fmt::format("\"{}\"", digest));
  return response;
}

// The digests of the parts that the client names, in their order; all must have come.
Outcome<std::vector<std::string>> read_parts(const Call& call, const FileOwner& shelf) {
  std::map<std::int64_t, std::string> named;
  for (const Fields& part : KEDGE_TRY(call.fields.items("parts"))) {
    std::string etag = KEDGE_TRY(part.need_text("etag"));
    std::erase(etag, '"');
    named[KEDGE_TRY(part.need_integer("part_number"))] = std::move(etag);
  }
  std::map<std::string, std::string> came;
  for (const store::RunFile& file : KEDGE_TRY(list_files(call, shelf))) {
    came[file.path] = file.digest;
  }
  std::vector<std::string> digests;
  for (const auto& [number, etag] : named) {
    const auto found = came.find(std::to_string(number));
    if (found == came.end() || found->second != etag) {
      return refuse(fmt::format("Part {} has not come, or is another one", number));
    }
    digests.push_back(etag);
  }
  return digests;
}

Outcome<Response> complete(const Call& call) {
  const FilePlace place = KEDGE_TRY(place_of_upload(call));
  const FilePlace shelf = part_place(KEDGE_TRY(call.fields.need_text("upload_id")), "");
  const std::vector<std::string> parts = KEDGE_TRY(read_parts(call, shelf.owner));
  KEDGE_TRY(put_blob(call, place, [&]() -> Result<store::StoredBlob> {
    const auto whole = KEDGE_TRY(call.api.blobs.begin());
    for (const std::string& digest : parts) {
      KEDGE_TRY(call.api.blobs.read(digest, {},
                                    [&](std::string_view bytes) { return whole->add(bytes); }));
    }
    return whole->commit();
  }));
  KEDGE_TRY(remove_files(call, shelf));
  return reply_empty();
}

Outcome<Response> abandon(const Call& call) {
  KEDGE_TRY(place_of_upload(call));
  KEDGE_TRY(remove_files(call, part_place(KEDGE_TRY(call.fields.need_text("upload_id")), "")));
  return reply_empty();
}

}  // namespace

void add_artifact_part_calls(Calls& calls) {
  http::RouteOptions part = write_options();
  part.max_body_bytes = kMaxPartBytes;
  part.is_spooled = true;
  for (const std::string prefix : {"/api/2.0/mlflow-artifacts", "/ajax-api/2.0/mlflow-artifacts"}) {
    calls.add_raw(Method::Put, prefix + "/mpu/part/{upload}/{number}", part, put_part);
    calls.add(Method::Post, prefix + "/mpu/create/{path...}", write_options(), create_upload);
    calls.add(Method::Post, prefix + "/mpu/complete/{path...}", write_options(), complete);
    calls.add(Method::Post, prefix + "/mpu/abort/{path...}", write_options(), abandon);
  }
}

}  // namespace kedge::mlflow
