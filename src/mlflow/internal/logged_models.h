// Logged models as MLflow's clients see them.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/call.h"
#include "store/dialect/logged_models.h"

namespace kedge::mlflow {

using store::LoggedModel;
using store::ModelMetric;
using store::ModelStatus;

// `Logged model with ID 'X' not found.`; one in the trash is not found, unless `is_deleted_fine`.
Outcome<LoggedModel> load_logged_model(const Call& call, const std::string& id,
                                       bool is_deleted_fine = false);
Outcome<std::string> model_artifact_uri(const Call& call, const LoggedModel& model);
Outcome<nlohmann::json> render_logged_model(const Call& call, const LoggedModel& model);

}  // namespace kedge::mlflow
