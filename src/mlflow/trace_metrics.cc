// Numbers over traces, spans and assessments: how many, how long, how many tokens, what it cost.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/aggregation.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/objects.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/trace_samples.h"
#include "mlflow/internal/trace_search.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;

constexpr std::int64_t kMostPoints = 1000;

constexpr auto kTraceViews =
    std::to_array<EnumName>({{"TRACES", 1}, {"SPANS", 2}, {"ASSESSMENTS", 3}});
constexpr auto kKinds = std::to_array<EnumName>(
    {{"COUNT", 1}, {"SUM", 2}, {"AVG", 3}, {"PERCENTILE", 4}, {"MIN", 5}, {"MAX", 6}});

// What is counted, what is measured, what can be added up.
enum class Sort : std::uint8_t { Count, Measure, Amount };

struct Metric {
  TraceView view;
  std::string_view name;
  Sort sort;
  std::vector<std::string> dimensions;
};

const std::vector<Metric>& metrics() {
  using enum TraceView;
  static const std::vector<std::string> kModel = {"span_model_name", "span_model_provider"};
  static const std::vector<Metric> kMetrics = {
      {Traces, "trace_count", Sort::Count, {"trace_name", "trace_status"}},
      {Traces, "session_count", Sort::Count, {}},
      {Traces, "latency", Sort::Measure, {"trace_name"}},
      {Traces, "input_tokens", Sort::Amount, {"trace_name"}},
      {Traces, "output_tokens", Sort::Amount, {"trace_name"}},
      {Traces, "total_tokens", Sort::Amount, {"trace_name"}},
      {Traces, "cache_read_input_tokens", Sort::Amount, {"trace_name"}},
      {Traces, "cache_creation_input_tokens", Sort::Amount, {"trace_name"}},
      {Spans,
       "span_count",
       Sort::Count,
       {"span_name", "span_type", "span_status", "span_model_name", "span_model_provider"}},
      {Spans, "latency", Sort::Measure, {"span_name", "span_status"}},
      {Spans, "input_cost", Sort::Amount, kModel},
      {Spans, "output_cost", Sort::Amount, kModel},
      {Spans, "total_cost", Sort::Amount, kModel},
      {Assessments, "assessment_count", Sort::Count, {"assessment_name", "assessment_value"}},
      {Assessments, "assessment_value", Sort::Measure, {"assessment_name"}},
  };
  return kMetrics;
}

bool takes(Sort sort, Aggregation::Kind kind) {
  return sort == Sort::Count ? kind == Aggregation::Kind::Count
                             : kind != Aggregation::Kind::Count &&
                                   (kind != Aggregation::Kind::Sum || sort == Sort::Amount);
}

Outcome<const Metric*> find_metric(TraceView view, const std::string& name) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) {
    if (metric.view == view && metric.name == name) {
      return &metric;
    }
    if (metric.view == view) {
      names.emplace_back(metric.name);
    }
  }
  return refuse(fmt::format("metric_name must be one of {}, got '{}'", python_list(names), name));
}

Outcome<std::vector<Aggregation>> read_aggregations(const Fields& fields, const Metric& metric) {
  std::vector<Aggregation> aggregations;
  for (const Fields& item : KEDGE_TRY(fields.items("aggregations"))) {
    Aggregation aggregation{.kind = static_cast<Aggregation::Kind>(
                                KEDGE_TRY(item.enumerated("aggregation_type", kKinds, 1)))};
    if (!takes(metric.sort, aggregation.kind)) {
      return refuse(fmt::format("Found invalid aggregation_type(s): ['{}']. '{}' does not have it.",
                                aggregation.label(), metric.name));
    }
    if (aggregation.kind == Aggregation::Kind::Percentile) {
      aggregation.percentile = KEDGE_TRY(item.need_number("percentile_value"));
      if (!(aggregation.percentile >= 0 && aggregation.percentile <= 100)) {
        return refuse(fmt::format("Percentile value must be between 0 and 100, got {}",
                                  python_float(aggregation.percentile)));
      }
    }
    aggregations.push_back(aggregation);
  }
  if (aggregations.empty()) {
    return std::unexpected(missing("aggregations"));
  }
  return aggregations;
}

Outcome<SampleQuery> read_sample_query(const Fields& fields, TraceView view, const Metric& metric) {
  SampleQuery query{.view = view, .metric = std::string(metric.name)};
  query.dimensions = KEDGE_TRY(fields.texts("dimensions"));
  for (const std::string& dimension : query.dimensions) {
    if (std::ranges::find(metric.dimensions, dimension) == metric.dimensions.end()) {
      return refuse(fmt::format("Found invalid dimension(s): ['{}']. Supported dimensions: {}",
                                dimension, python_list(metric.dimensions)));
    }
  }
  for (const std::string& text : KEDGE_TRY(fields.texts("filters"))) {
    query.filters.push_back(KEDGE_TRY(parse_sample_filter(text, view)));
  }
  query.first_ms = KEDGE_TRY(fields.find_integer("start_time_ms"));
  query.last_ms = KEDGE_TRY(fields.find_integer("end_time_ms"));
  return query;
}

// "2026-01-31T12:00:00+00:00", as Python writes it.
std::string render_bucket(std::int64_t time_ms) {
  std::string text = render_time(time_ms);
  return text.substr(0, text.find_first_of(".Z")) + "+00:00";
}

// Where the sample's stretch of time begins; nothing is cut where there are no stretches.
std::int64_t bucket_of(std::int64_t time_ms, std::int64_t length_ms) {
  if (length_ms == 0) {
    return 0;
  }
  const std::int64_t rest = time_ms % length_ms;
  return time_ms - (rest < 0 ? rest + length_ms : rest);
}

struct Group {
  std::vector<double> values = {};
  std::set<std::string> seen = {};
};

using Groups = std::map<std::pair<std::int64_t, std::vector<std::string>>, Group>;

Groups group(std::vector<Sample> samples, std::int64_t length_ms) {
  Groups groups;
  for (Sample& sample : samples) {
    Group& found = groups[{bucket_of(sample.time_ms, length_ms), std::move(sample.words)}];
    if (sample.once.empty() || found.seen.insert(sample.once).second) {
      found.values.push_back(sample.value);
    }
  }
  for (auto& [key, found] : groups) {
    std::ranges::sort(found.values);
  }
  return groups;
}

struct Question {
  SampleQuery samples;
  std::vector<Aggregation> aggregations;
  std::int64_t length_ms = 0;  // of a stretch of time; 0: all is one
};

// In seconds; 0: time is not cut.
Outcome<std::int64_t> read_length(const Fields& fields, const SampleQuery& query) {
  const std::int64_t length_s = KEDGE_TRY(fields.find_integer("time_interval_seconds")).value_or(0);
  if (length_s != 0 && (!query.first_ms || !query.last_ms)) {
    return refuse("start_time_ms and end_time_ms are required if time_interval_seconds is set");
  }
  if (length_s < 0 || length_s > 1'000'000'000) {
    return refuse(fmt::format("time_interval_seconds must be positive, got {}", length_s));
  }
  return length_s;
}

Outcome<Question> read_question(const Fields& fields) {
  const auto view =
      static_cast<TraceView>(KEDGE_TRY(fields.enumerated("view_type", kTraceViews, 1)));
  const std::string name = KEDGE_TRY(fields.need_text("metric_name"));
  const Metric& metric = *KEDGE_TRY(find_metric(view, name));
  Question question{.samples = KEDGE_TRY(read_sample_query(fields, view, metric)),
                    .aggregations = KEDGE_TRY(read_aggregations(fields, metric))};
  question.length_ms = KEDGE_TRY(read_length(fields, question.samples)) * 1000;
  return question;
}

json render_point(const Question& question, const Groups::value_type& entry) {
  const auto& [key, found] = entry;
  json point = {{"metric_name", question.samples.metric}, {"dimensions", json::object()}};
  if (question.length_ms != 0) {
    point["dimensions"]["time_bucket"] = render_bucket(key.first);
  }
  for (std::size_t i = 0; i < key.second.size(); ++i) {
    point["dimensions"][question.samples.dimensions[i]] = key.second[i];
  }
  for (const Aggregation& aggregation : question.aggregations) {
    point["values"][aggregation.label()] = aggregate(aggregation, found.values);
  }
  return point;
}

Outcome<Response> query_metrics(const Call& call) {
  const Question question = KEDGE_TRY(read_question(call.fields));
  const Page page = KEDGE_TRY(read_page(call.fields, kMostPoints, kMostPoints));
  std::vector<Sample> samples;
  for (const Trace& trace : KEDGE_TRY(read_traces(call))) {
    KEDGE_TRY(add_samples(call, trace, question.samples, samples));
  }
  std::vector<json> points;
  for (const auto& entry : group(std::move(samples), question.length_ms)) {
    points.push_back(render_point(question, entry));
  }
  json body = json::object();
  add_page(body, "data_points", page, points.size(), [&](std::size_t i) { return points[i]; });
  return reply(body);
}

}  // namespace

void add_trace_metric_calls(Calls& calls) {
  read_v3(calls, Method::Post, "traces/metrics", query_metrics);
}

}  // namespace kedge::mlflow
