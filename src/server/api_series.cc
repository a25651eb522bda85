#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/history_text.h"
#include "server/internal/routes.h"

namespace kedge::server {
namespace {

store::MetricKind kind_of(const Input& input) {
  return input.at("kind") == "system" ? store::MetricKind::System : store::MetricKind::Metric;
}

constexpr std::size_t kMaxSeries = 20'000;
constexpr std::size_t kMaxAnswerPoints = 2'000'000;  // of all together
constexpr double kMicroseconds = 1e6;

}  // namespace

store::SeriesRequest curve_of(const Input& input) {
  store::SeriesRequest curve;
  curve.kind = kind_of(input);
  curve.x = input.at("x");
  curve.points = input.at("points");
  // The store counts in seconds, JSON in microseconds as everywhere.
  const double scale = curve.x == "time" ? kMicroseconds : 1;
  if (const auto from = find<double>(input, "from")) {
    curve.from = *from / scale;
  }
  if (const auto to = find<double>(input, "to")) {
    curve.to = *to / scale;
  }
  return curve;
}

namespace {

Result<std::vector<store::RunKey>> runs_of(const Input& input, const http::Caller& caller) {
  std::vector<store::RunKey> runs;
  for (const Input& run : input.at("runs")) {
    runs.push_back({run.at("project"), run.at("id")});
    KEDGE_TRY(check_project(caller, runs.back().project, runs.back().id));
  }
  return runs;
}

void append_numbers(std::string& text, const std::vector<double>& numbers) {
  text += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += i > 0 ? "," : "";
    append_number(text, numbers[i]);
  }
  text += ']';
}

void append_times(std::string& text, const std::vector<double>& seconds) {
  text += '[';
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{}", i > 0 ? "," : "",
                   std::llround(seconds[i] * kMicroseconds));
  }
  text += ']';
}

// Reads no more than `left` points. What has more is refused: a chart of a part would mislead.
Result<store::Series> read_bounded(const Api& api, store::SeriesRequest wanted, std::size_t left) {
  const bool wants_all = wanted.points == 0;
  wanted.points = wants_all ? left + 1 : wanted.points;
  store::Series series = KEDGE_TRY(api.store.read_series(wanted));
  if (series.x.size() > left || (wants_all && series.is_sampled)) {
    return fail(ErrorKind::Usage,
                fmt::format("these series have more than {} points", kMaxAnswerPoints),
                "ask for fewer runs, keys or points, for a range, or for the runs' history");
  }
  return series;
}

Result<http::Response> read_series(const Api& api, const http::Request& request,
                                   const Input& input) {
  const auto runs = KEDGE_TRY(runs_of(input, request.caller));
  const auto keys = input.at("keys").get<std::vector<std::string>>();
  if (runs.size() * keys.size() > kMaxSeries) {
    return fail(ErrorKind::Usage, fmt::format("{} series at once are too many; {} are allowed",
                                              runs.size() * keys.size(), kMaxSeries));
  }
  store::SeriesRequest wanted = curve_of(input);
  wanted.attempt = find<int>(input, "attempt");
  std::string text = "{\"series\":[";
  std::size_t left = kMaxAnswerPoints;
  for (const store::RunKey& run : runs) {
    wanted.run = run;
    for (const std::string& key : keys) {
      wanted.key = key;
      const store::Series series = KEDGE_TRY(read_bounded(api, wanted, left));
      left -= series.x.size();
      text += text.back() == '[' ? "{\"project\":" : ",{\"project\":";
      append_text(text, run.project);
      text += ",\"id\":";
      append_text(text, run.id);
      text += ",\"key\":";
      append_text(text, key);
      text += ",\"x\":";
      if (wanted.x == "time") {
        append_times(text, series.x);
      } else {
        append_numbers(text, series.x);
      }
      text += ",\"y\":";
      append_numbers(text, series.y);
      fmt::format_to(std::back_inserter(text), ",\"count\":{},\"sampled\":{}}}", series.count,
                     series.is_sampled);
    }
  }
  text += "]}";
  return http::json_response(std::move(text));
}

Result<http::Response> list_metrics(const Api& api, const http::Request& request) {
  std::string text = "{\"metrics\":[";
  for (const store::Metric& metric : KEDGE_TRY(api.store.list_metrics(run_key(request)))) {
    const store::MetricSummary& summary = metric.summary;
    text += text.back() == '[' ? "{\"key\":" : ",{\"key\":";
    append_text(text, metric.key);
    fmt::format_to(std::back_inserter(text),
                   R"(,"kind":"{}","count":{},"last_step":{},"first_us":{},"last_us":{},"last":)",
                   metric.kind == store::MetricKind::System ? "system" : "metric", summary.count,
                   summary.last_step, summary.first_us, summary.last_us);
    append_number(text, summary.last);
    text += ",\"min\":";
    append_number(text, summary.min);
    text += ",\"max\":";
    append_number(text, summary.max);
    text += '}';
  }
  text += "]}";
  return http::json_response(std::move(text));
}

Result<http::Response> read_history(const Api& api, const http::Request& request,
                                    const Input& input) {
  const auto format = parse_history_format(input.at("format").get<std::string>());
  HistoryRequest wanted{.run = run_key(request),
                        .keys = {},
                        .kind = kind_of(input),
                        .format = *format,
                        .with_replaced = input.at("replaced") == 1};
  if (const auto key = find<std::string>(input, "key")) {
    wanted.keys.push_back(*key);
    KEDGE_TRY(api.store.find_facts(wanted.run)
                  ? Result<void>()
                  : fail(ErrorKind::NotFound, fmt::format("there is no run '{}/{}'",
                                                          wanted.run.project, wanted.run.id)));
  } else {
    for (const store::Metric& metric : KEDGE_TRY(api.store.list_metrics(wanted.run))) {
      if (metric.kind == wanted.kind) {
        wanted.keys.push_back(metric.key);
      }
    }
  }
  http::Response response;
  response.headers.add("Content-Type", std::string(content_type_of(*format)));
  const bool is_parquet = *format == HistoryFormat::Parquet;
  if (is_parquet || *format == HistoryFormat::Csv) {
    response.headers.add("Content-Disposition",
                         fmt::format("attachment; filename=\"{}.{}\"", wanted.run.id,
                                     is_parquet ? "parquet" : "csv"));
  }
  response.body = make_history_producer(api.store, std::move(wanted));
  return response;
}

}  // namespace

void add_series_routes(Routes& routes) {
  const std::string run = "/api/v1/runs/{project}/{id}";
  routes.name("MetricKind", "'metric' | 'system'");
  routes.name("CurveRequest", R"({
    kind?: MetricKind = "metric",
    x?: string = "step",  // step, time (Unix microseconds), relative (seconds), epoch, or a metric
    points?: integer(0..100000) = 500,
    from?: number,  // in units of x
    to?: number,
  })");
  routes.name("WireSeries", R"({
    project: string,
    id: string,
    key: string,
    x: WireNumber[],
    y: WireNumber[],
    count: integer,
    sampled: boolean,
  })");
  routes.name("MetricFacts", R"({
    key: string,
    kind: MetricKind,
    count: integer,
    last_step: integer,
    first_us: time,
    last_us: time,
    last: WireNumber,
    min: WireNumber,
    max: WireNumber,
  })");
  routes.name("HistoryPoint", R"({
    key: string,
    step: integer,
    value: WireNumber,
    time_us: time,
    attempt: integer,
    replaced?: boolean,  // by a later attempt
  })");
  routes.add(http::Method::Post, "/api/v1/series",
             {.summary = "Curves of many runs, few points each: the least and greatest of every "
                         "bucket, or with points 0 every point; all together at most 2,000,000",
              .options = {.max_body_bytes = 8U << 20U, .is_scoped = true, .is_compressed = true},
              .body = "CurveRequest & {runs: RunRef[], keys: string[], attempt?: integer}",
              .answer = "{series: WireSeries[]}"},
             read_series);
  routes.add(http::Method::Get, run + "/metrics",
             {.summary = "The curves a run has",
              .options = {.is_compressed = true},
              .answer = "{metrics: MetricFacts[]}"},
             list_metrics);
  routes.add(
      http::Method::Get, run + "/history",
      {.summary = "Every point of one curve, or of all",
       .query = R"({
                key?: string,
                kind?: MetricKind = "metric",
                format?: 'json' | 'jsonl' | 'csv' | 'parquet' = "json",
                replaced?: integer(0..1) = 0,  // 1: also points that a later attempt replaced
              })",
       .answer = "{points: HistoryPoint[]}",
       .other_types = {"text/csv", "application/x-ndjson", "application/vnd.apache.parquet"}},
      read_history);
}

}  // namespace kedge::server
