#include "store/dialect/logged_models.h"

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/internal/tables.h"
#include "store/internal/text.h"

namespace kedge::store {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr std::string_view kSelectLoggedModel =
    "SELECT id, project_id, name, model_type, source_run, status, created_us, changed_us,"
    " deleted_us, tags, params FROM logged_models WHERE ";

Result<LoggedModel> read_logged_model(const SqlRow& row) {
  return LoggedModel{.id = row.string(0),
                     .project = row.integer(1),
                     .name = row.string(2),
                     .type = row.string(3),
                     .source_run = row.string(4),
                     .status = static_cast<ModelStatus>(row.integer(5)),
                     .created_us = row.integer(6),
                     .changed_us = row.integer(7),
                     .deleted_us = row.integer(8),
                     .tags = KEDGE_TRY(parse_json(row.text(9))).get<Texts>(),
                     .params = KEDGE_TRY(parse_json(row.text(10))).get<Texts>()};
}

Result<std::optional<LoggedModel>> find_logged_model(Database& database, const std::string& id) {
  return database.find(fmt::format("{}id = $1", kSelectLoggedModel), {id}, read_logged_model);
}

// NaN is NULL in the database, and NULLs are never equal: is_nan is what tells twice the same.
Result<void> add_metric(Database& database, const std::string& run_id, const ModelMetric& metric) {
  const bool is_nan = std::isnan(metric.value);
  return database.run(
      "INSERT INTO logged_model_metrics (model_id, run_id, name, value, is_nan, time_ms,"
      " step, dataset_name, dataset_digest) SELECT id, $2, $3, $4, $5, $6, $7, $8, $9"
      " FROM logged_models WHERE id = $1"
      " ON CONFLICT (model_id, run_id, name, time_ms, step, value, is_nan, dataset_name,"
      " dataset_digest) DO NOTHING",
      {metric.model_id, run_id, metric.key, is_nan ? 0.0 : metric.value, is_nan ? 1 : 0,
       metric.time_ms, metric.step, metric.dataset_name, metric.dataset_digest});
}

}  // namespace

Result<void> LoggedModels::add(const LoggedModel& model) {
  return Tables(store_).run(
      "INSERT INTO logged_models (id, project_id, name, model_type, source_run, status,"
      " created_us, changed_us, deleted_us, tags, params)"
      " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10)",
      {model.id, model.project, model.name, model.type, model.source_run,
       static_cast<std::int64_t>(model.status), model.created_us, model.changed_us,
       render_json(model.tags), render_json(model.params)});
}

Result<std::optional<LoggedModel>> LoggedModels::find(const std::string& id) const {
  return Tables(store_).read([&](Database& database) { return find_logged_model(database, id); });
}

Result<LoggedModel> LoggedModels::edit(const std::string& id,
                                       const std::function<Result<void>(LoggedModel&)>& edit,
                                       std::int64_t now_us) {
  return Tables(store_).change([&](Database& database) -> Result<LoggedModel> {
    auto model = KEDGE_TRY(find_logged_model(database, id));
    if (!model) {
      return fail(ErrorKind::NotFound, fmt::format("Logged model with ID '{}' not found.", id));
    }
    KEDGE_TRY(edit(*model));
    model->changed_us = now_us;
    KEDGE_TRY(database.run(
        "UPDATE logged_models SET name = $2, model_type = $3, source_run = $4, status = $5,"
        " changed_us = $6, deleted_us = $7, tags = $8, params = $9 WHERE id = $1",
        {id, model->name, model->type, model->source_run, static_cast<std::int64_t>(model->status),
         now_us, model->deleted_us, render_json(model->tags), render_json(model->params)}));
    return std::move(*model);
  });
}

Result<std::vector<LoggedModel>> LoggedModels::list(std::int64_t project) const {
  return Tables(store_).list(
      fmt::format("{}project_id = $1 AND deleted_us = 0", kSelectLoggedModel), {project},
      read_logged_model);
}

void LoggedModels::add_metrics(const std::string& run_id, std::vector<ModelMetric> metrics,
                               Done<void> done) {
  // A job may run again: it must not eat its metrics.
  auto shared = std::make_shared<const std::vector<ModelMetric>>(std::move(metrics));
  Tables(store_).change(
      [shared, run_id](Database& database) -> Result<void> {
        for (const ModelMetric& metric : *shared) {
          KEDGE_TRY(add_metric(database, run_id, metric));
        }
        return {};
      },
      std::move(done));
}

Result<std::vector<ModelMetric>> LoggedModels::metrics(const std::string& id) const {
  return Tables(store_).list(
      "SELECT name, value, is_nan, time_ms, step, dataset_name, dataset_digest, run_id"
      " FROM logged_model_metrics WHERE model_id = $1 ORDER BY name, step, time_ms",
      {id}, [&](const SqlRow& row) {
        return ModelMetric{.model_id = id,
                           .key = row.string(0),
                           .value = row.integer(2) != 0 ? std::nan("") : row.real(1),
                           .time_ms = row.integer(3),
                           .step = row.integer(4),
                           .dataset_name = row.string(5),
                           .dataset_digest = row.string(6),
                           .run_id = row.string(7)};
      });
}

}  // namespace kedge::store
