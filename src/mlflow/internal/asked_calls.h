// Calls that GraphQL asks too: each stands in its subject's file, beside its route.
#pragma once

#include "mlflow/internal/call.h"

namespace kedge::mlflow {

Outcome<server::Response> get_experiment(const Call& call);
Outcome<server::Response> get_run(const Call& call);
Outcome<server::Response> search_runs(const Call& call);
Outcome<server::Response> get_metric_interval(const Call& call);
Outcome<server::Response> list_artifacts(const Call& call);
Outcome<server::Response> search_model_versions(const Call& call);
Outcome<server::Response> search_datasets(const Call& call);

}  // namespace kedge::mlflow
