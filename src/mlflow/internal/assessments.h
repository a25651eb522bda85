// Assessments: what people, programs and models say of a trace. They are part of its facts
// (trace_info.assessments), so they come and go with it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/traces.h"

namespace kedge::mlflow {

// 404 in MLflow's words; PERMISSION_DENIED when it is not the caller's.
Outcome<Trace> load_trace(const Call& call, const std::string& id);

// As it is kept: with an id and times, and values that are no plain ones as a text.
Outcome<nlohmann::json> read_assessment(const Fields& fields, const std::string& trace_id,
                                        std::int64_t now_ms);

}  // namespace kedge::mlflow
