#include "mlflow/internal/traces.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using store::Database;
using store::SqlRow;

Trace read_trace(const SqlRow& row) {
  return {.id = row.string(0),
          .project = row.integer(1),
          .time_ms = row.integer(2),
          .info = json::parse(row.text(3))};  // written by us
}

Result<std::optional<Trace>> find_trace(Database& database, const std::string& id) {
  std::optional<Trace> trace;
  KEDGE_TRY(database.query("SELECT id, project_id, time_ms, info FROM traces WHERE id = $1", {id},
                           [&](const SqlRow& row) -> Result<void> {
                             trace = read_trace(row);
                             return {};
                           }));
  return trace;
}

Result<void> write_trace(Database& database, const Trace& trace) {
  return database.run(
      "INSERT INTO traces (id, project_id, time_ms, info) VALUES ($1, $2, $3, $4)"
      " ON CONFLICT (id) DO UPDATE SET time_ms = excluded.time_ms, info = excluded.info",
      {trace.id, trace.project, trace.time_ms, server::dump(trace.info)});
}

// The facts of a trace of which only spans have come.
json info_of(const OtlpSpan& span, std::int64_t project) {
  const std::string code = span.body.value(json::json_pointer("/status/code"), "");
  return {{"trace_id", span.trace_id},
          {"trace_location",
           {{"type", "MLFLOW_EXPERIMENT"},
            {"mlflow_experiment", {{"experiment_id", std::to_string(project)}}}}},
          {"request_time", render_time(static_cast<std::int64_t>(span.start_ns / 1'000'000))},
          {"execution_duration",
           render_duration(static_cast<std::int64_t>(
               (std::max(span.end_ns, span.start_ns) - span.start_ns) / 1'000'000))},
          {"state", code == "STATUS_CODE_ERROR" ? "ERROR" : "OK"},
          {"trace_metadata", {{"mlflow.trace_schema.version", "3"}}},
          {"tags", {{"mlflow.traceName", span.body.value("name", "")}}}};
}

// Those of before, and after them those of `after` that are new.
void keep_assessments(const json& before, json& after) {
  json kept = before.value("assessments", json::array());
  for (json& assessment : after["assessments"]) {
    const auto is_same = [&](const json& other) {
      return other.at("assessment_id") == assessment.at("assessment_id");
    };
    if (std::ranges::none_of(kept, is_same)) {
      kept.push_back(std::move(assessment));
    }
  }
  after["assessments"] = std::move(kept);
  if (after["assessments"].empty()) {
    after.erase("assessments");
  }
}

Result<void> put_span(Database& database, std::int64_t project, const OtlpSpan& span) {
  KEDGE_TRY(
      database.run("INSERT INTO trace_spans (trace, span, start_ns, body) VALUES ($1, $2, $3, $4)"
                   " ON CONFLICT (trace, span) DO UPDATE SET start_ns = excluded.start_ns,"
                   " body = excluded.body",
                   {span.trace_id, span.span_id, static_cast<std::int64_t>(span.start_ns),
                    server::dump(span.body)}));
  auto trace = KEDGE_TRY(find_trace(database, span.trace_id));
  const bool is_told =
      trace && trace->info.value("tags", json::object()).contains("mlflow.artifactLocation");
  if (!trace || (span.is_root && !is_told)) {
    Trace fresh{.id = span.trace_id,
                .project = project,
                .time_ms = static_cast<std::int64_t>(span.start_ns / 1'000'000),
                .info = info_of(span, project)};
    if (trace) {
      keep_assessments(trace->info, fresh.info);
    }
    trace = std::move(fresh);
  }
  trace->info["tags"]["mlflow.trace.spansLocation"] = "TRACKING_STORE";
  return write_trace(database, *trace);
}

}  // namespace

Result<void> Traces::put(const Trace& trace) {
  return store_.change([&](Database& database) -> Result<void> {
    Trace whole = trace;
    if (const auto before = KEDGE_TRY(find_trace(database, trace.id))) {
      for (const char* group : {"tags", "trace_metadata"}) {
        json merged = before->info.value(group, json::object());
        merged.update(trace.info.value(group, json::object()));
        whole.info[group] = std::move(merged);
      }
      keep_assessments(before->info, whole.info);
    }
    return write_trace(database, whole);
  });
}

Result<std::optional<Trace>> Traces::find(const std::string& id) const {
  std::optional<Trace> trace;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    trace = KEDGE_TRY(find_trace(database, id));
    return {};
  }));
  return trace;
}

Result<Trace> Traces::edit(const std::string& id,
                           const std::function<Result<void>(json& info)>& edit) {
  Trace changed;
  KEDGE_TRY(store_.change([&](Database& database) -> Result<void> {
    auto trace = KEDGE_TRY(find_trace(database, id));
    if (!trace) {
      return fail(ErrorKind::NotFound, fmt::format("Trace with ID '{}' not found.", id));
    }
    changed = std::move(*trace);
    KEDGE_TRY(edit(changed.info));
    return write_trace(database, changed);
  }));
  return changed;
}

Result<std::vector<Trace>> Traces::list(std::int64_t project) const {
  std::vector<Trace> traces;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    traces.clear();
    return database.query(
        "SELECT id, project_id, time_ms, info FROM traces WHERE project_id = $1"
        " ORDER BY time_ms DESC, id",
        {project}, [&](const SqlRow& row) -> Result<void> {
          traces.push_back(read_trace(row));
          return {};
        });
  }));
  return traces;
}

Result<std::int64_t> Traces::remove(const std::vector<std::string>& ids) {
  std::int64_t count = 0;
  KEDGE_TRY(store_.change([&](Database& database) -> Result<void> {
    count = 0;
    for (const std::string& id : ids) {
      count += KEDGE_TRY(find_trace(database, id)) ? 1 : 0;
      KEDGE_TRY(database.run("DELETE FROM traces WHERE id = $1", {id}));
      KEDGE_TRY(database.run("DELETE FROM trace_spans WHERE trace = $1", {id}));
      KEDGE_TRY(database.run("DELETE FROM trace_runs WHERE trace = $1", {id}));
    }
    return {};
  }));
  return count;
}

Result<void> Traces::add_spans(std::int64_t project, const std::vector<OtlpSpan>& spans) {
  return store_.change([&](Database& database) -> Result<void> {
    for (const OtlpSpan& span : spans) {
      KEDGE_TRY(put_span(database, project, span));
    }
    return {};
  });
}

Result<json> Traces::spans(const std::string& id) const {
  json spans = json::array();
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    spans = json::array();
    return database.query("SELECT body FROM trace_spans WHERE trace = $1 ORDER BY start_ns, span",
                          {id}, [&](const SqlRow& row) -> Result<void> {
                            spans.push_back(json::parse(row.text(0)));  // written by us
                            return {};
                          });
  }));
  return spans;
}

Result<void> Traces::link(const std::vector<std::string>& ids, const std::string& run_id) {
  return store_.change([&](Database& database) -> Result<void> {
    for (const std::string& id : ids) {
      KEDGE_TRY(
          database.run("INSERT INTO trace_runs (trace, run_id) VALUES ($1, $2)"
                       " ON CONFLICT (trace, run_id) DO NOTHING",
                       {id, run_id}));
    }
    return {};
  });
}

Result<std::vector<std::string>> Traces::linked(const std::string& run_id) const {
  std::vector<std::string> ids;
  KEDGE_TRY(store_.read([&](Database& database) -> Result<void> {
    ids.clear();
    return database.query("SELECT trace FROM trace_runs WHERE run_id = $1", {run_id},
                          [&](const SqlRow& row) -> Result<void> {
                            ids.push_back(row.string(0));
                            return {};
                          });
  }));
  return ids;
}

std::string render_time(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text.data(), ms % 1000);
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::tm parts = {};
  const std::string copy(text);
  const char* end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) {
    return std::nullopt;
  }
  double fraction = 0;
  if (*end == '.') {
    char* after = nullptr;
    fraction = std::strtod(end, &after);
    end = after;
  }
  std::int64_t offset = 0;
  if (*end == '+' || *end == '-') {
    int hours = 0;
    int minutes = 0;
    if (std::sscanf(end + 1, "%d:%d", &hours, &minutes) != 2) {
      return std::nullopt;
    }
    offset = (*end == '+' ? 1 : -1) * (hours * 3600 + minutes * 60);
  }
  return (static_cast<std::int64_t>(::timegm(&parts)) - offset) * 1000 +
         std::llround(fraction * 1000);
}

std::string render_duration(std::int64_t ms) {
  return fmt::format("{}.{:03}s", ms / 1000, ms % 1000);
}

std::int64_t parse_duration_ms(std::string_view text) {
  const std::string copy(text);
  return std::llround(std::strtod(copy.c_str(), nullptr) * 1000);
}

}  // namespace kedge::mlflow
