// Uploads of artifacts in parts.
#pragma once

#include "mlflow/internal/call.h"

namespace kedge::mlflow {

void add_artifact_part_calls(Calls& calls);  // artifact_parts.cc

}  // namespace kedge::mlflow
