// Filter, order and pages of traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/traces.h"

namespace kedge::mlflow {

// Of the experiments that the request names: experiment_ids, or locations.
Outcome<std::vector<Trace>> read_traces(const Call& call);

Outcome<bool> matches(const Call& call, const Trace& trace, const std::vector<Clause>& clauses);

// A text of "tags" or "trace_metadata"; nothing when it is not there.
std::optional<std::string> find_trace_text(const Trace& trace, const char* group,
                                           const std::string& key);

// Whether the run made it, or was linked to it later.
Outcome<bool> is_of_run(const Call& call, const Trace& trace, const std::string& run);

using TraceRenderer = nlohmann::json (*)(const Trace& trace);

// A page of what the filter finds, {"traces": [...]}.
Outcome<server::Response> search_traces(const Call& call, TraceRenderer render);

}  // namespace kedge::mlflow
