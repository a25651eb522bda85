// The trace calls of clients before MLflow 3: a trace is begun and ended, and its spans lie in a
// file beside it. They are the same traces: what one version's clients write, the other's find.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/assessments.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/state.h"
#include "mlflow/internal/trace_search.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;

constexpr auto kTraceStatuses = std::to_array<EnumName>(
    {{"TRACE_STATUS_UNSPECIFIED", 0}, {"OK", 1}, {"ERROR", 2}, {"IN_PROGRESS", 3}});

json render_group(const json& info, const char* group) {
  json pairs = json::array();
  const json words = info.value(group, json::object());
  for (const auto& [key, value] : words.items()) {
    pairs.push_back({{"key", key}, {"value", value}});
  }
  return pairs;
}

json render_legacy(const Trace& trace) {
  return {{"request_id", trace.id},
          {"experiment_id", std::to_string(trace.project)},
          {"timestamp_ms", trace.time_ms},
          {"execution_time_ms", parse_duration_ms(trace.info.value("execution_duration", "0s"))},
          {"status", trace.info.value("state", "TRACE_STATUS_UNSPECIFIED")},
          {"request_metadata", render_group(trace.info, "trace_metadata")},
          {"tags", render_group(trace.info, "tags")}};
}

struct Words {
  KeyValues metadata;
  KeyValues tags;
};

Outcome<Words> read_words(const Fields& fields) {
  return Words{.metadata = KEDGE_TRY(fields.key_values("request_metadata")),
               .tags = KEDGE_TRY(fields.key_values("tags"))};
}

// New words replace those of the same key.
void add_words(json& info, const Words& words) {
  for (const auto& [key, value] : words.metadata) {
    info["trace_metadata"][key] = value;
  }
  for (const auto& [key, value] : words.tags) {
    info["tags"][key] = value;
  }
}

Outcome<Response> start_legacy_trace(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  KEDGE_TRY(check_active(project));
  const Words words = KEDGE_TRY(read_words(call.fields));
  Trace trace{.id = make_id(), .project = project.id};
  trace.time_ms =
      KEDGE_TRY(call.fields.find_integer("timestamp_ms")).value_or(to_ms(call.api.now_us()));
  trace.info = {{"trace_id", trace.id},
                {"trace_location",
                 {{"type", "MLFLOW_EXPERIMENT"},
                  {"mlflow_experiment", {{"experiment_id", std::to_string(project.id)}}}}},
                {"request_time", render_time(trace.time_ms)},
                {"state", "IN_PROGRESS"}};
  add_words(trace.info, words);
  trace.info["tags"]["mlflow.artifactLocation"] =
      join_location(project, fmt::format("traces/{}/artifacts", trace.id));
  KEDGE_TRY(call.state.traces.put(trace));
  return reply({{"trace_info", render_legacy(trace)}});
}

Outcome<Response> end_legacy_trace(const Call& call) {
  const Trace trace = KEDGE_TRY(load_trace(call, call.request.parameter("trace_id")));
  const int status = KEDGE_TRY(call.fields.enumerated("status", kTraceStatuses, 0));
  const std::int64_t end_ms =
      KEDGE_TRY(call.fields.find_integer("timestamp_ms")).value_or(to_ms(call.api.now_us()));
  const Words words = KEDGE_TRY(read_words(call.fields));
  const Trace ended = KEDGE_TRY(call.state.traces.edit(trace.id, [&](json& info) -> Result<void> {
    info["state"] = kTraceStatuses.at(static_cast<std::size_t>(status)).name;
    info["execution_duration"] = render_duration(std::max<std::int64_t>(end_ms - trace.time_ms, 0));
    add_words(info, words);
    return {};
  }));
  return reply({{"trace_info", render_legacy(ended)}});
}

Outcome<Response> get_legacy_info(const Call& call) {
  const Trace trace = KEDGE_TRY(load_trace(call, call.request.parameter("trace_id")));
  return reply({{"trace_info", render_legacy(trace)}});
}

Outcome<Response> search_legacy_traces(const Call& call) {
  return search_traces(call, render_legacy);
}

}  // namespace

void add_legacy_trace_calls(Calls& calls) {
  calls.write(Method::Post, "traces", start_legacy_trace);
  calls.read(Method::Get, "traces", search_legacy_traces);
  calls.write(Method::Patch, "traces/{trace_id}", end_legacy_trace);
  calls.read(Method::Get, "traces/{trace_id}/info", get_legacy_info);
}

}  // namespace kedge::mlflow
