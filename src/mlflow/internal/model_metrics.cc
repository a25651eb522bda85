#include "mlflow/internal/model_metrics.h"

#include <cmath>
#include <memory>
#include <utility>

namespace kedge::mlflow {

using store::Database;
using store::SqlRow;

void add_model_metrics(store::Store& store, const std::string& run_id,
                       std::vector<ModelMetric> metrics, store::Done<void> done) {
  auto shared = std::make_shared<const std::vector<ModelMetric>>(std::move(metrics));
  store.change(
      [shared, run_id](Database& database) -> Result<void> {
        for (const ModelMetric& metric : *shared) {
          // NaN is NULL in the database, and NULLs are never equal: is_nan is what tells twice the
          // same.
          const bool is_nan = std::isnan(metric.value);
          if (KEDGE_TRY(database.query_integer("SELECT COUNT(*) FROM logged_models WHERE id = $1",
                                               {metric.model_id})) == 0) {
            continue;
          }
          KEDGE_TRY(database.run(
              "INSERT INTO logged_model_metrics (model_id, run_id, name, value, is_nan, time_ms,"
              " step, dataset_name, dataset_digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
              " ON CONFLICT (model_id, run_id, name, time_ms, step, value, is_nan, dataset_name,"
              " dataset_digest) DO NOTHING",
              {metric.model_id, run_id, metric.key, is_nan ? 0.0 : metric.value, is_nan ? 1 : 0,
               metric.time_ms, metric.step, metric.dataset_name, metric.dataset_digest}));
        }
        return {};
      },
      std::move(done));
}

Result<std::vector<ModelMetric>> list_model_metrics(Database& database,
                                                    const std::string& model_id) {
  std::vector<ModelMetric> metrics;
  KEDGE_TRY(database.query(
      "SELECT name, value, is_nan, time_ms, step, dataset_name, dataset_digest, run_id"
      " FROM logged_model_metrics WHERE model_id = $1 ORDER BY name, step, time_ms",
      {model_id}, [&](const SqlRow& row) -> Result<void> {
        metrics.push_back({.model_id = model_id,
                           .key = row.string(0),
                           .value = row.integer(2) != 0 ? std::nan("") : row.real(1),
                           .time_ms = row.integer(3),
                           .step = row.integer(4),
                           .dataset_name = row.string(5),
                           .dataset_digest = row.string(6),
                           .run_id = row.string(7)});
        return {};
      }));
  return metrics;
}

}  // namespace kedge::mlflow
