#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr std::uint64_t kMaxUploadBytes = 10ULL << 20U;

Outcome<std::string> uri_of_run(const Call& call, const std::string& id) {
  const LoadedRun run = KEDGE_TRY(load_run(call, id));
  const auto project = find_experiment(call, run.key.project);
  if (!project) {
    return refuse(Code::ResourceDoesNotExist, fmt::format("Run with id={} not found", id));
  }
  return artifact_uri(*project, id);
}

Outcome<Response> get_run_artifact(const Call& call) {
  const std::string path = KEDGE_TRY(check_path(KEDGE_TRY(call.fields.need_text("path"))));
  const std::string uri = KEDGE_TRY(uri_of_run(call, KEDGE_TRY(call.fields.need_run_id())));
  return send_file(call, KEDGE_TRY(locate_uri(call, uri, path)));
}

// The fields are in the query and the file is the body, whatever it is.
Outcome<Response> upload(const Call& call) {
  const auto given = [&](std::string_view name) {
    return std::string(call.request.query_value(name).value_or(""));
  };
  const std::string id = given("run_uuid").empty() ? given("run_id") : given("run_uuid");
  if (id.empty()) {
    return refuse("Request must specify run_uuid.");
  }
  if (given("path").empty()) {
    return refuse("Request must specify path.");
  }
  const std::string path = KEDGE_TRY(check_path(given("path")));
  if (!call.request.body_file) {
    return refuse("Request must specify data.");
  }
  if (KEDGE_TRY(size_of_file(*call.request.body_file)) > kMaxUploadBytes) {
    return refuse("Artifact size is too large. Max size is 10MB.");
  }
  const std::string uri = KEDGE_TRY(uri_of_run(call, id));
  KEDGE_TRY(put_body(call, KEDGE_TRY(locate_uri(call, uri, path))));
  return reply_empty();
}

Outcome<Response> refuse_presigned(const Call& call) {
  (void)KEDGE_TRY(call.fields.need_text("path"));
  return refuse(
      "Presigned URLs are for artifacts in cloud stores; those of this server are sent "
      "through it.");
}

}  // namespace

Outcome<http::Response> list_artifacts(const Call& call) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  const std::string path = KEDGE_TRY(check_path(KEDGE_TRY(call.fields.text("path"))));
  const std::string uri = KEDGE_TRY(uri_of_run(call, id));
  nlohmann::json body = {{"root_uri", uri}};
  auto files = KEDGE_TRY(
      render_folder(call, KEDGE_TRY(locate_uri(call, uri, path)), path.empty() ? "" : path + "/"));
  if (!files.empty()) {
    body["files"] = std::move(files);
  }
  return reply(body);
}

void add_artifact_view_calls(Calls& calls) {
  calls.read(Method::Get, "artifacts/list", list_artifacts);
  calls.read(Method::Post, "artifacts/presigned-upload-url", refuse_presigned);
  calls.read(Method::Post, "artifacts/presigned-download-url", refuse_presigned);
  calls.add(Method::Get, "/get-artifact", read_options(), get_run_artifact);
  http::RouteOptions options = write_options();
  options.is_spooled = true;
  options.max_body_bytes = 4 * kMaxUploadBytes;  // what is too large is told in MLflow's words
  calls.add(Method::Post, "/ajax-api/2.0/mlflow/upload-artifact", options, upload);
}

}  // namespace kedge::mlflow
