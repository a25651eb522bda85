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

using store::Database;
using store::SqlRow;

using Texts = std::map<std::string, std::string>;

constexpr std::string_view kSelect =
    "SELECT id, project_id, name, model_type, source_run, status, created_us, changed_us,"
    " deleted_us, tags, params FROM logged_models";

LoggedModel read_model(const SqlRow& row) {
  return {.id = row.string(0),
          .project = row.integer(1),
          .name = row.string(2),
          .type = row.string(3),
          .source_run = row.string(4),
          .status = static_cast<ModelStatus>(row.integer(5)),
          .created_us = row.integer(6),
          .changed_us = row.integer(7),
          .deleted_us = row.integer(8),
          .tags = nlohmann::json::parse(row.text(9)).get<Texts>(),  // written by us
          .params = nlohmann::json::parse(row.text(10)).get<Texts>()};
}

Result<std::optional<LoggedModel>> find_model(Database& database, const std::string& id) {
  std::optional<LoggedModel> model;
  KEDGE_TRY(database.query(fmt::format("{} WHERE id = $1", kSelect), {id},
                           [&](const SqlRow& row) -> Result<void> {
                             model = read_model(row);
                             return {};
                           }));
  return model;
}

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

Result<void> LoggedModels::add(const LoggedModel& model) {
  return store_.change([&](Database& database) {
    return database.run(
        "INSERT INTO logged_models (id, project_id, name, model_type, source_run, status,"
        " created_us, changed_us, deleted_us, tags, params)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10)",
        {model.id, model.project, model.name, model.type, model.source_run,
         static_cast<std::int64_t>(model.status), model.created_us, model.changed_us,
         server::dump(model.tags), server::dump(model.params)});
  });
}

Result<std::optional<LoggedModel>> LoggedModels::find(const std::string& id) const {
  std::optional<LoggedModel> model;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    model = KEDGE_TRY(find_model(database, id));
    return {};
  }));
  return model;
}

Result<LoggedModel> LoggedModels::edit(const std::string& id,
                                       const std::function<Result<void>(LoggedModel&)>& edit,
                                       std::int64_t now_us) {
  LoggedModel changed;
  KEDGE_TRY(store_.change([&](Database& database) -> Result<void> {
    auto model = KEDGE_TRY(find_model(database, id));
    if (!model) {
      return fail(ErrorKind::NotFound, logged_model_not_found(id));
    }
    changed = std::move(*model);
    KEDGE_TRY(edit(changed));
    changed.changed_us = now_us;
    return database.run(
        "UPDATE logged_models SET name = $2, model_type = $3, source_run = $4, status = $5,"
        " changed_us = $6, deleted_us = $7, tags = $8, params = $9 WHERE id = $1",
        {id, changed.name, changed.type, changed.source_run,
         static_cast<std::int64_t>(changed.status), now_us, changed.deleted_us,
         server::dump(changed.tags), server::dump(changed.params)});
  }));
  return changed;
}

Result<std::vector<LoggedModel>> LoggedModels::list(std::int64_t project) const {
  std::vector<LoggedModel> models;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    models.clear();
    return database.query(fmt::format("{} WHERE project_id = $1 AND deleted_us = 0", kSelect),
                          {project}, [&](const SqlRow& row) -> Result<void> {
                            models.push_back(read_model(row));
                            return {};
                          });
  }));
  return models;
}

Result<std::vector<ModelMetric>> LoggedModels::metrics(const std::string& id) const {
  std::vector<ModelMetric> metrics;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    metrics = KEDGE_TRY(list_model_metrics(database, id));
    return {};
  }));
  return metrics;
}

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
