// Scorers: one object has all versions of one, the oldest first, and how it would score traces as
// they come.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/objects.h"

namespace kedge::mlflow {

inline constexpr std::string_view kScorerKind = "mlflow.scorer";

nlohmann::json& versions_of(store::Object& scorer);

// Of the fields experiment_id and name. 404 in MLflow's words.
Outcome<store::Object> load_scorer(const Call& call);

// Where a scorer keeps the model that judges, whatever its kind; null: nowhere.
nlohmann::json* find_judge(nlohmann::json& scorer);

inline constexpr std::string_view kGatewayPrefix = "gateway:/";  // of a model that is an endpoint

// A scorer as it was registered, with the name that its endpoint has now; without a model when the
// endpoint is gone.
Outcome<std::string> render_scorer(const Call& call, const nlohmann::json& version);

}  // namespace kedge::mlflow
