#include <utility>

#include <nlohmann/json.hpp>

#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/call.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr std::uint64_t kMaxFileBytes = 1ULL << 40U;

Outcome<FilePlace> place_of_artifact(const Call& call) {
  return locate(call, KEDGE_TRY(check_path(call.request.parameter("path"))));
}

Outcome<Response> put_artifact(const Call& call) {
  const FilePlace place = KEDGE_TRY(place_of_artifact(call));
  if (place.path.empty() || call.request.path.ends_with('/')) {
    return refuse("Invalid path");
  }
  KEDGE_TRY(put_body(call, place));
  return Response{};
}

Outcome<Response> get_artifact(const Call& call) {
  return send_file(call, KEDGE_TRY(place_of_artifact(call)));
}

Outcome<Response> remove_artifact(const Call& call) {
  KEDGE_TRY(remove_files(call, KEDGE_TRY(place_of_artifact(call))));
  return reply_empty();
}

Outcome<Response> list_artifact_folder(const Call& call) {
  const std::string path = KEDGE_TRY(check_path(KEDGE_TRY(call.fields.text("path"))));
  nlohmann::json files = KEDGE_TRY(render_folder(call, KEDGE_TRY(locate(call, path)), {}));
  return files.empty() ? reply_empty() : reply({{"files", std::move(files)}});
}

Outcome<Response> refuse_download(const Call&) {
  return refuse(Code::NotImplemented,
                "Multipart download is not supported for the current artifact repository");
}

}  // namespace

void add_artifact_calls(Calls& calls) {
  http::RouteOptions upload = write_options();
  upload.max_body_bytes = kMaxFileBytes;
  upload.is_spooled = true;
  for (const std::string prefix : {"/api/2.0/mlflow-artifacts", "/ajax-api/2.0/mlflow-artifacts"}) {
    const std::string file = prefix + "/artifacts/{path...}";
    calls.add(Method::Put, file, upload, put_artifact);
    calls.add(Method::Get, file, read_options(), get_artifact);
    calls.add(Method::Delete, file, write_options(), remove_artifact);
    calls.add(Method::Get, prefix + "/artifacts", read_options(), list_artifact_folder);
    calls.add(Method::Get, prefix + "/presigned/{path...}", read_options(), refuse_download);
  }
}

}  // namespace kedge::mlflow
