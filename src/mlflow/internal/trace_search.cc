#include "mlflow/internal/trace_search.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/experiments.h"
#include "mlflow/internal/filter.h"
#include "mlflow/internal/state.h"
#include "mlflow/internal/traces.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;

constexpr std::int64_t kUsualTraces = 100;
constexpr std::int64_t kMostTraces = 500;

// What a search in the text of a trace looks at: the spans' names and attributes.
std::string text_of_spans(const json& spans) {
  std::string text;
  for (const json& span : spans) {
    const json shown = render_span(span);
    text += server::dump(shown["name"]) + server::dump(shown["attributes"]);
  }
  return text;
}

double number_of_trace(const Trace& trace, const std::string& key) {
  return key == "timestamp"
             ? static_cast<double>(trace.time_ms)
             : static_cast<double>(parse_duration_ms(trace.info.value("execution_duration", "0s")));
}

Outcome<bool> matches_run(const Call& call, const Trace& trace, const Clause& clause) {
  if (matches_text(clause, find_trace_text(trace, "trace_metadata", "mlflow.sourceRun"))) {
    return true;
  }
  std::vector<std::string> runs = clause.list;
  if (clause.comparator == Comparator::Equal) {
    runs.push_back(clause.text);
  }
  for (const std::string& run : runs) {
    if (KEDGE_TRY(is_of_run(call, trace, run))) {
      return true;
    }
  }
  return false;
}

Outcome<bool> matches_one(const Call& call, const Trace& trace, const Clause& clause) {
  if (clause.entity == Entity::Tag) {
    return matches_text(clause, find_trace_text(trace, "tags", clause.key));
  }
  if (clause.entity == Entity::Parameter) {
    return matches_text(clause, find_trace_text(trace, "trace_metadata", clause.key));
  }
  if (clause.is_numeric) {
    return matches_number(clause, number_of_trace(trace, clause.key));
  }
  if (clause.key == "run_id") {
    return matches_run(call, trace, clause);
  }
  if (clause.key == "name") {
    return matches_text(clause, find_trace_text(trace, "tags", "mlflow.traceName"));
  }
  if (clause.key == "text") {
    return matches_text(clause, text_of_spans(KEDGE_TRY(call.state.traces.spans(trace.id))));
  }
  if (clause.key == "trace_id") {
    return matches_text(clause, trace.id);
  }
  if (clause.key == "experiment_id") {
    return matches_text(clause, std::to_string(trace.project));
  }
  const char* field = clause.key == "status" ? "state" : "client_request_id";
  const auto found = trace.info.find(field);
  return matches_text(clause,
                      found != trace.info.end() && found->is_string()
                          ? std::optional<std::string_view>(found->get_ref<const std::string&>())
                          : std::nullopt);
}

std::string sort_text(const Trace& trace, const std::string& key) {
  if (key == "name") {
    return find_trace_text(trace, "tags", "mlflow.traceName").value_or("");
  }
  return key == "status" ? trace.info.value("state", "") : trace.id;
}

// Below 0: `a` comes first.
int compare_traces(const Trace& a, const Trace& b, const std::string& key) {
  if (key == "timestamp" || key == "execution_time") {
    const double left = number_of_trace(a, key);
    const double right = number_of_trace(b, key);
    return left < right ? -1 : left > right ? 1 : 0;
  }
  return sort_text(a, key).compare(sort_text(b, key));
}

}  // namespace

Outcome<std::vector<Trace>> read_traces(const Call& call) {
  std::vector<std::string> ids = KEDGE_TRY(call.fields.texts("experiment_ids"));
  for (const Fields& location : KEDGE_TRY(call.fields.items("locations"))) {
    if (const auto experiment = KEDGE_TRY(location.find_object("mlflow_experiment"))) {
      ids.push_back(KEDGE_TRY(experiment->need_text("experiment_id")));
    }
  }
  if (ids.empty()) {
    return refuse("At least one location must be specified.");
  }
  std::vector<Trace> traces;
  for (const std::string& id : ids) {
    const auto project = load_experiment(call, id);
    if (!project && project.error().code != Code::ResourceDoesNotExist) {
      return std::unexpected(project.error());
    }
    if (project) {
      auto found = KEDGE_TRY(call.state.traces.list(project->id));
      std::ranges::move(found, std::back_inserter(traces));
    }
  }
  return traces;
}

std::optional<std::string> find_trace_text(const Trace& trace, const char* group,
                                           const std::string& key) {
  const auto found = trace.info.find(group);
  if (found == trace.info.end() || !found->is_object() || !found->contains(key) ||
      !found->at(key).is_string()) {
    return std::nullopt;
  }
  return found->at(key).get<std::string>();
}

Outcome<bool> is_of_run(const Call& call, const Trace& trace, const std::string& run) {
  if (find_trace_text(trace, "trace_metadata", "mlflow.sourceRun") == run) {
    return true;
  }
  const auto linked = KEDGE_TRY(call.state.traces.linked(run));
  return std::ranges::find(linked, trace.id) != linked.end();
}

Outcome<bool> matches(const Call& call, const Trace& trace, const std::vector<Clause>& clauses) {
  for (const Clause& clause : clauses) {
    if (!KEDGE_TRY(matches_one(call, trace, clause))) {
      return false;
    }
  }
  return true;
}

Outcome<server::Response> search_traces(const Call& call, TraceRenderer render) {
  const Page page = KEDGE_TRY(read_page(call.fields, kUsualTraces, kMostTraces));
  const auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter")), kTraceLanguage));
  std::vector<OrderTerm> order;
  for (const std::string& text : KEDGE_TRY(call.fields.texts("order_by"))) {
    order.push_back(KEDGE_TRY(parse_order(text, kTraceLanguage)));
  }
  order.push_back({.key = "timestamp", .is_ascending = false});
  order.push_back({.key = "trace_id"});
  std::vector<Trace> found;
  for (Trace& trace : KEDGE_TRY(read_traces(call))) {
    if (KEDGE_TRY(matches(call, trace, clauses))) {
      found.push_back(std::move(trace));
    }
  }
  std::ranges::stable_sort(found, [&](const Trace& a, const Trace& b) {
    for (const OrderTerm& term : order) {
      if (const int sign = compare_traces(a, b, term.key); sign != 0) {
        return (sign < 0) == term.is_ascending;
      }
    }
    return false;
  });
  json body = json::object();
  add_page(body, "traces", page, found.size(), [&](std::size_t i) { return render(found[i]); });
  return reply(body);
}

}  // namespace kedge::mlflow
