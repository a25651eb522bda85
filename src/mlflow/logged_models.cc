#include "mlflow/internal/logged_models.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/logged_model_search.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/state.h"
#include "track/names.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr auto kLoggedModelStatuses =
    std::to_array<EnumName>({{"LOGGED_MODEL_STATUS_UNSPECIFIED", 0},
                             {"LOGGED_MODEL_PENDING", 1},
                             {"LOGGED_MODEL_READY", 2},
                             {"LOGGED_MODEL_UPLOAD_FAILED", 3}});

const std::string& model_id(const Call& call) {
  return call.request.parameter("model_id");
}

Outcome<Response> reply_logged_model(const Call& call, const LoggedModel& model) {
  return reply({{"model", KEDGE_TRY(render_logged_model(call, model))}});
}

Outcome<Response> create_logged_model(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  KEDGE_TRY(check_active(project));
  LoggedModel model;
  model.id = "m-" + make_id();
  model.project = project.id;
  const auto name = KEDGE_TRY(call.fields.find_text("name"));
  if (name && !name->empty()) {
    KEDGE_TRY(check_logged_model_name(*name));
  }
  model.name = name && !name->empty() ? *name : track::make_run_name();
  model.type = KEDGE_TRY(call.fields.text("model_type"));
  model.source_run = KEDGE_TRY(call.fields.text("source_run_id"));
  const KeyValues params = KEDGE_TRY(call.fields.key_values("params"));
  const KeyValues tags = KEDGE_TRY(call.fields.key_values("tags"));
  model.params = {params.begin(), params.end()};
  model.tags = {tags.begin(), tags.end()};
  model.created_us = call.api.now_us();
  model.changed_us = model.created_us;
  KEDGE_TRY(call.state.logged_models.add(model));
  return reply_logged_model(call, model);
}

Outcome<Response> get_logged_model(const Call& call) {
  const bool is_deleted_fine = KEDGE_TRY(call.fields.boolean("allow_deleted", false));
  return reply_logged_model(call,
                            KEDGE_TRY(load_logged_model(call, model_id(call), is_deleted_fine)));
}

Outcome<LoggedModel> edit_logged_model(const Call& call,
                                       const std::function<Result<void>(LoggedModel&)>& edit) {
  KEDGE_TRY(load_logged_model(call, model_id(call)));
  return KEDGE_TRY(call.state.logged_models.edit(model_id(call), edit, call.api.now_us()));
}

Outcome<Response> finalize(const Call& call) {
  const int status = KEDGE_TRY(call.fields.enumerated("status", kLoggedModelStatuses, 0));
  const LoggedModel model =
      KEDGE_TRY(edit_logged_model(call, [&](LoggedModel& found) -> Result<void> {
        found.status = static_cast<ModelStatus>(status);
        return {};
      }));
  return reply_logged_model(call, model);
}

Outcome<Response> remove_logged_model(const Call& call) {
  KEDGE_TRY(edit_logged_model(call, [&](LoggedModel& found) -> Result<void> {
    found.deleted_us = call.api.now_us();
    return {};
  }));
  return reply_empty();
}

Outcome<Response> set_logged_model_tags(const Call& call) {
  const KeyValues tags = KEDGE_TRY(call.fields.key_values("tags"));
  const LoggedModel model =
      KEDGE_TRY(edit_logged_model(call, [&](LoggedModel& found) -> Result<void> {
        for (const auto& [key, value] : tags) {
          found.tags[key] = value;
        }
        return {};
      }));
  return reply_logged_model(call, model);
}

Outcome<Response> delete_logged_model_tag(const Call& call) {
  const std::string& key = call.request.parameter("tag_key");
  KEDGE_TRY(edit_logged_model(call, [&](LoggedModel& found) -> Result<void> {
    if (found.tags.erase(key) == 0) {
      return fail(ErrorKind::NotFound, fmt::format("No tag with key '{}' found for model with ID "
                                                   "'{}'.",
                                                   key, found.id));
    }
    return {};
  }));
  return reply_empty();
}

Outcome<Response> log_params(const Call& call) {
  const KeyValues params = KEDGE_TRY(call.fields.key_values("params"));
  KEDGE_TRY(edit_logged_model(call, [&](LoggedModel& found) -> Result<void> {
    for (const auto& [key, value] : params) {
      found.params[key] = cut(value, kMaxParamValue);
    }
    return {};
  }));
  return reply_empty();
}

Outcome<Response> list_model_artifacts(const Call& call) {
  const std::string path =
      KEDGE_TRY(check_path(KEDGE_TRY(call.fields.text("artifact_directory_path"))));
  const LoggedModel model = KEDGE_TRY(load_logged_model(call, model_id(call)));
  const std::string uri = KEDGE_TRY(model_artifact_uri(call, model));
  nlohmann::json body = {{"root_uri", uri}};
  auto files = KEDGE_TRY(
      render_folder(call, KEDGE_TRY(locate_uri(call, uri, path)), path.empty() ? "" : path + "/"));
  if (!files.empty()) {
    body["files"] = std::move(files);
  }
  return reply(body);
}

Outcome<Response> get_model_artifact(const Call& call) {
  const std::string path =
      KEDGE_TRY(check_path(KEDGE_TRY(call.fields.need_text("artifact_file_path"))));
  const LoggedModel model = KEDGE_TRY(load_logged_model(call, model_id(call)));
  const std::string uri = KEDGE_TRY(model_artifact_uri(call, model));
  return send_file(call, KEDGE_TRY(locate_uri(call, uri, path)));
}

}  // namespace

void add_logged_model_calls(Calls& calls) {
  calls.read(Method::Post, "logged-models/search", search_logged_models);
  calls.write(Method::Post, "logged-models", create_logged_model);
  calls.read(Method::Get, "logged-models/{model_id}", get_logged_model);
  calls.write(Method::Patch, "logged-models/{model_id}", finalize);
  calls.write(Method::Delete, "logged-models/{model_id}", remove_logged_model);
  calls.write(Method::Patch, "logged-models/{model_id}/tags", set_logged_model_tags);
  calls.write(Method::Delete, "logged-models/{model_id}/tags/{tag_key}", delete_logged_model_tag);
  calls.write(Method::Post, "logged-models/{model_id}/params", log_params);
  calls.read(Method::Get, "logged-models/{model_id}/artifacts/directories", list_model_artifacts);
  calls.read(Method::Get, "logged-models/{model_id}/artifacts/files", get_model_artifact);
}

}  // namespace kedge::mlflow
