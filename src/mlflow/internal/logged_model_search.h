// Filter, order and pages of logged models.
#pragma once

#include "mlflow/internal/call.h"

namespace kedge::mlflow {

Outcome<http::Response> search_logged_models(const Call& call);

}  // namespace kedge::mlflow
