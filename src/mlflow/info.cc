#include <nlohmann/json.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

// What clients take for the server's version: they look for what it can do, not for who it is.
constexpr std::string_view kVersion = "3.17.0";

Outcome<Response> version(const Call&) {
  Response response{.body = kVersion};
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  return response;
}

Outcome<Response> server_info(const Call& call) {
  return reply({{"store_type", "SqlStore"},
                {"workspaces_enabled", false},
                {"trace_archival_enabled", false},
                {"multipart_uploads_enabled", call.state.takes_parts},
                {"multipart_downloads_enabled", false},
                {"presigned_upload_run_id_supported", false},
                {"presigned_upload_model_id_supported", false},
                {"artifact_serving_enabled", true},
                {"artifacts_presigned_only", false},
                {"features_enabled", {{"gateway", false}}}});
}

}  // namespace

void add_info_calls(Calls& calls) {
  http::RouteOptions open = read_options();
  open.role = http::Role::None;
  calls.add(Method::Get, "/version", open, version);
  for (const std::string prefix : {"/api", "/ajax-api"}) {
    calls.add(Method::Get, prefix + "/3.0/mlflow/server-info", open, server_info);
  }
}

}  // namespace kedge::mlflow
