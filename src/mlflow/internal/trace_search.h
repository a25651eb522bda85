// Filter, order and pages of traces.
#pragma once

#include "mlflow/internal/call.h"

namespace kedge::mlflow {

Outcome<server::Response> search_traces(const Call& call);

}  // namespace kedge::mlflow
