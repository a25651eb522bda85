#include "mlflow/internal/traces.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/assessments.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/runs.h"
#include "mlflow/internal/state.h"
#include "mlflow/internal/trace_search.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;

constexpr std::size_t kMostLinked = 100;

Outcome<Fields> need_info(const Fields& fields) {
  const auto outer = KEDGE_TRY(fields.find_object("trace"));
  const auto info = outer ? KEDGE_TRY(outer->find_object("trace_info")) : std::nullopt;
  if (!info) {
    return std::unexpected(missing("trace.trace_info"));
  }
  return *info;
}

// Of the default experiment when it does not say whose it is.
Outcome<store::Project> load_owner(const Call& call, const Fields& info) {
  const auto location = KEDGE_TRY(info.find_object("trace_location"));
  const auto experiment =
      location ? KEDGE_TRY(location->find_object("mlflow_experiment")) : std::nullopt;
  const std::string id = experiment ? KEDGE_TRY(experiment->need_text("experiment_id")) : "0";
  return load_experiment(call, id);
}

Outcome<Response> start_trace(const Call& call) {
  const Fields info = KEDGE_TRY(need_info(call.fields));
  const auto project = KEDGE_TRY(load_owner(call, info));
  Trace trace{
      .id = KEDGE_TRY(info.need_text("trace_id")), .project = project.id, .info = info.object()};
  trace.time_ms =
      parse_time(KEDGE_TRY(info.text("request_time"))).value_or(to_ms(call.api.now_us()));
  trace.info["tags"]["mlflow.artifactLocation"] =
      join_location(project, fmt::format("traces/{}/artifacts", trace.id));
  trace.info["trace_metadata"]["mlflow.trace.infoFinalized"] = "true";
  trace.info.erase("assessments");
  for (const Fields& fields : KEDGE_TRY(info.items("assessments"))) {
    trace.info["assessments"].push_back(
        KEDGE_TRY(read_assessment(fields, trace.id, to_ms(call.api.now_us()))));
  }
  KEDGE_TRY(call.state.traces.put(trace));
  const Trace stored = KEDGE_TRY(load_trace(call, trace.id));
  return reply({{"trace", {{"trace_info", stored.info}}}});
}

Outcome<Response> add_sent_spans(const Call& call) {
  const auto id = call.request.headers.find("x-mlflow-experiment-id");
  const auto project = KEDGE_TRY(load_experiment(call, id.value_or("0")));
  auto spans = parse_otlp(call.request.body);
  if (!spans) {
    return refuse(Code::BadRequest, spans.error().message);
  }
  KEDGE_TRY(call.state.traces.add_spans(project.id, *spans));
  Response response;
  response.headers.add("Content-Type", "application/x-protobuf");
  return response;
}

Outcome<Response> get_trace_info(const Call& call) {
  const Trace trace = KEDGE_TRY(load_trace(call, call.request.parameter("trace_id")));
  return reply({{"trace", {{"trace_info", trace.info}}}});
}

Outcome<json> render_whole(const Call& call, const Trace& trace) {
  json body = {{"trace_info", trace.info}};
  if (json spans = KEDGE_TRY(call.state.traces.spans(trace.id)); !spans.empty()) {
    body["spans"] = std::move(spans);
  }
  return body;
}

Outcome<Response> get_trace(const Call& call) {
  const Trace trace = KEDGE_TRY(load_trace(call, KEDGE_TRY(call.fields.need_text("trace_id"))));
  return reply({{"trace", KEDGE_TRY(render_whole(call, trace))}});
}

Outcome<Response> get_many(const Call& call) {
  json body = json::object();
  for (const std::string& id : KEDGE_TRY(call.fields.texts("trace_ids"))) {
    const auto trace = load_trace(call, id);
    if (trace) {
      body["traces"].push_back(KEDGE_TRY(render_whole(call, *trace)));
    } else if (trace.error().code != Code::ResourceDoesNotExist) {
      return std::unexpected(trace.error());
    }
  }
  return reply(body);
}

Outcome<Response> search_trace_infos(const Call& call) {
  return search_traces(call, [](const Trace& trace) { return trace.info; });
}

// The file in which clients before 3 keep the spans; nothing where there is none, or not here.
Outcome<std::optional<FilePlace>> find_span_file(const Call& call, const Trace& trace) {
  const auto uri = find_trace_text(trace, "tags", "mlflow.artifactLocation");
  if (!uri) {
    return std::nullopt;
  }
  const auto place = locate_uri(call, *uri, "traces.json");
  return place && KEDGE_TRY(find_file(call, *place)) ? std::optional(*place) : std::nullopt;
}

// The spans as the file that clients would have kept themselves.
Outcome<Response> get_file(const Call& call) {
  const Trace trace = KEDGE_TRY(load_trace(call, KEDGE_TRY(call.fields.need_text("request_id"))));
  if (const auto file = KEDGE_TRY(find_span_file(call, trace))) {
    return send_file(call, *file);
  }
  json spans = json::array();
  for (const json& span : KEDGE_TRY(call.state.traces.spans(trace.id))) {
    spans.push_back(render_span(span));
  }
  Response response{.body = server::dump({{"spans", std::move(spans)}})};
  response.headers.add("Content-Type", "text/plain");
  response.headers.add("Content-Disposition", "attachment; filename=traces.json");
  return response;
}

Outcome<Response> set_trace_tag(const Call& call) {
  const std::string& id = call.request.parameter("trace_id");
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(load_trace(call, id));
  KEDGE_TRY(call.state.traces.edit(id, [&](json& info) -> Result<void> {
    info["tags"][key] = value;
    return {};
  }));
  return reply_empty();
}

Outcome<Response> delete_trace_tag(const Call& call) {
  const std::string& id = call.request.parameter("trace_id");
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  KEDGE_TRY(load_trace(call, id));
  KEDGE_TRY(call.state.traces.edit(id, [&](json& info) -> Result<void> {
    if (info["tags"].erase(key) == 0) {
      return fail(ErrorKind::NotFound,
                  fmt::format("No trace tag with key '{}' for trace with ID '{}'", key, id));
    }
    return {};
  }));
  return reply_empty();
}

Outcome<Response> remove_traces(const Call& call) {
  const auto project = KEDGE_TRY(load_experiment(call));
  auto ids = KEDGE_TRY(call.fields.texts("request_ids"));
  const auto before = KEDGE_TRY(call.fields.find_integer("max_timestamp_millis"));
  const auto most = KEDGE_TRY(call.fields.find_integer("max_traces"));
  const auto traces = KEDGE_TRY(call.state.traces.list(project.id));
  const std::set<std::string> asked(ids.begin(), ids.end());
  ids.clear();
  for (auto trace = traces.rbegin(); trace != traces.rend(); ++trace) {  // the oldest first
    const bool is_meant = before ? trace->time_ms <= *before : asked.contains(trace->id);
    if (is_meant && (!most || static_cast<std::int64_t>(ids.size()) < *most)) {
      ids.push_back(trace->id);
    }
  }
  return reply({{"traces_deleted", KEDGE_TRY(call.state.traces.remove(ids))}});
}

Outcome<Response> link_to_run(const Call& call) {
  const auto ids = KEDGE_TRY(call.fields.texts("trace_ids"));
  const std::string run_id = KEDGE_TRY(call.fields.need_run_id());
  if (ids.size() > kMostLinked) {
    return refuse(
        fmt::format("Cannot link more than {} traces to a run in a single request. "
                    "Provided {} traces.",
                    kMostLinked, ids.size()));
  }
  KEDGE_TRY(load_run(call, run_id));
  KEDGE_TRY(call.state.traces.link(ids, run_id));
  return reply_empty();
}

}  // namespace

Outcome<Trace> load_trace(const Call& call, const std::string& id) {
  auto trace = KEDGE_TRY(call.state.traces.find(id));
  if (!trace) {
    return refuse(Code::ResourceDoesNotExist, fmt::format("Trace with ID '{}' not found.", id));
  }
  const auto project = call.api.store.find_project(trace->project);
  KEDGE_TRY(check_access(call, project ? project->name : ""));
  return std::move(*trace);
}

void add_trace_calls(Calls& calls) {
  for (const std::string prefix : {"/api/3.0/mlflow/traces", "/ajax-api/3.0/mlflow/traces"}) {
    calls.add(Method::Post, prefix, write_options(), start_trace);
    calls.add(Method::Post, prefix + "/search", read_options(), search_trace_infos);
    calls.add(Method::Get, prefix + "/get", read_options(), get_trace);
    calls.add(Method::Get, prefix + "/batchGet", read_options(), get_many);
    calls.add(Method::Post, prefix + "/delete-traces", write_options(), remove_traces);
    calls.add(Method::Get, prefix + "/{trace_id}", read_options(), get_trace_info);
    calls.add(Method::Patch, prefix + "/{trace_id}/tags", write_options(), set_trace_tag);
    calls.add(Method::Delete, prefix + "/{trace_id}/tags", write_options(), delete_trace_tag);
  }
  calls.read(Method::Get, "get-trace-artifact", get_file);
  calls.write(Method::Post, "traces/delete-traces", remove_traces);
  calls.write(Method::Post, "traces/link-to-run", link_to_run);
  calls.write(Method::Patch, "traces/{trace_id}/tags", set_trace_tag);
  calls.write(Method::Delete, "traces/{trace_id}/tags", delete_trace_tag);
  calls.add_raw(Method::Post, "/v1/traces", write_options(), add_sent_spans);
}

}  // namespace kedge::mlflow
