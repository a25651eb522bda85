#include "mlflow/internal/logged_models.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/experiments.h"
#include "mlflow/internal/metric_text.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

std::string logged_model_not_found(std::string_view id) {
  return fmt::format("Logged model with ID '{}' not found.", id);
}

nlohmann::json render_metric(const ModelMetric& metric) {
  std::string value;
  append_value(value, metric.value);
  nlohmann::json body = {{"key", metric.key},           {"value", nlohmann::json::parse(value)},
                         {"timestamp", metric.time_ms}, {"step", metric.step},
                         {"model_id", metric.model_id}, {"run_id", metric.run_id}};
  if (!metric.dataset_name.empty()) {
    body["dataset_name"] = metric.dataset_name;
  }
  if (!metric.dataset_digest.empty()) {
    body["dataset_digest"] = metric.dataset_digest;
  }
  return body;
}

}  // namespace

Outcome<LoggedModel> load_logged_model(const Call& call, const std::string& id,
                                       bool is_deleted_fine) {
  auto model = KEDGE_TRY(call.state.logged_models.find(id));
  if (!model || (model->deleted_us != 0 && !is_deleted_fine)) {
    return refuse(Code::ResourceDoesNotExist, logged_model_not_found(id));
  }
  const auto project = call.api.store.find_project(model->project);
  KEDGE_TRY(check_access(call, project ? project->name : ""));
  return std::move(*model);
}

Outcome<std::string> model_artifact_uri(const Call& call, const LoggedModel& model) {
  const auto project = find_experiment(call, model.project);
  if (!project) {
    return refuse(Code::ResourceDoesNotExist,
                  fmt::format("No Experiment with id={} exists", model.project));
  }
  return join_location(*project, fmt::format("models/{}/artifacts", model.id));
}

Outcome<nlohmann::json> render_logged_model(const Call& call, const LoggedModel& model) {
  constexpr std::array<std::string_view, 4> kStatuses = {
      "LOGGED_MODEL_STATUS_UNSPECIFIED", "LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY",
      "LOGGED_MODEL_UPLOAD_FAILED"};
  nlohmann::json info = {{"model_id", model.id},
                         {"experiment_id", std::to_string(model.project)},
                         {"name", model.name},
                         {"creation_timestamp_ms", to_ms(model.created_us)},
                         {"last_updated_timestamp_ms", to_ms(model.changed_us)},
                         {"artifact_uri", KEDGE_TRY(model_artifact_uri(call, model))},
                         {"status", kStatuses.at(static_cast<std::size_t>(model.status))}};
  if (!model.type.empty()) {
    info["model_type"] = model.type;
  }
  if (!model.source_run.empty()) {
    info["source_run_id"] = model.source_run;
  }
  if (!model.tags.empty()) {
    info["tags"] = render_pairs({model.tags.begin(), model.tags.end()});
  }
  nlohmann::json data = nlohmann::json::object();
  if (!model.params.empty()) {
    data["params"] = render_pairs({model.params.begin(), model.params.end()});
  }
  for (const ModelMetric& metric : KEDGE_TRY(call.state.logged_models.metrics(model.id))) {
    data["metrics"].push_back(render_metric(metric));
  }
  return nlohmann::json{{"info", std::move(info)}, {"data", std::move(data)}};
}

}  // namespace kedge::mlflow
