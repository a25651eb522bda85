// Calls that GraphQL asks too: each stands in its subject's file, beside its route.
#pragma once

#include "mlflow/internal/call.h"

namespace kedge::mlflow {

Outcome<http::Response> get_experiment(const Call& call);
Outcome<http::Response> get_run(const Call& call);
Outcome<http::Response> search_runs(const Call& call);
Outcome<http::Response> get_metric_interval(const Call& call);
Outcome<http::Response> list_artifacts(const Call& call);
Outcome<http::Response> search_model_versions(const Call& call);
Outcome<http::Response> search_datasets(const Call& call);

}  // namespace kedge::mlflow
