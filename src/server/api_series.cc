#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"
#include "server/history_text.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMaxSeries = 20'000;
constexpr std::int64_t kMaxPoints = 100'000;         // of one series
constexpr std::size_t kMaxAnswerPoints = 2'000'000;  // of all together
constexpr double kMicroseconds = 1e6;

struct ParsedSeries {
  std::vector<store::RunKey> runs;
  std::vector<std::string> keys;
  store::SeriesRequest pattern;  // without run and key
};

Result<std::vector<store::RunKey>> parse_runs(const nlohmann::json& json, const Caller& caller) {
  const auto list = json.find("runs");
  if (list == json.end() || !list->is_array()) {
    return fail(ErrorKind::Usage, "'runs' must be a list of {project, id}");
  }
  std::vector<store::RunKey> runs;
  for (const nlohmann::json& run : *list) {
    if (!run.is_object()) {
      return fail(ErrorKind::Usage, "'runs' must be a list of {project, id}");
    }
    const auto project = KEDGE_TRY(find_text(run, "project"));
    const auto id = KEDGE_TRY(find_text(run, "id"));
    if (!project || !id) {
      return fail(ErrorKind::Usage, "each of 'runs' needs a project and an id");
    }
    KEDGE_TRY(check_project(caller, *project, *id));
    runs.push_back({*project, *id});
  }
  return runs;
}

Result<store::MetricKind> parse_kind(const std::string& name) {
  if (name != "metric" && name != "system") {
    return fail(ErrorKind::Usage, fmt::format("the kind is metric or system, not '{}'", name));
  }
  return name == "system" ? store::MetricKind::System : store::MetricKind::Metric;
}

Result<store::SeriesRequest> parse_pattern(const nlohmann::json& json) {
  store::SeriesRequest pattern;
  pattern.kind = KEDGE_TRY(parse_kind(KEDGE_TRY(find_text(json, "kind")).value_or("metric")));
  pattern.x = KEDGE_TRY(find_text(json, "x")).value_or("step");
  const std::int64_t points = KEDGE_TRY(find_integer(json, "points")).value_or(500);
  if (points < 0 || points > kMaxPoints) {
    return fail(ErrorKind::Usage, fmt::format("points is 0 (every point) to {}", kMaxPoints));
  }
  pattern.points = static_cast<std::size_t>(points);
  pattern.from = KEDGE_TRY(find_number(json, "from"));
  pattern.to = KEDGE_TRY(find_number(json, "to"));
  if (pattern.x == "time") {  // the store counts in seconds, JSON in microseconds as everywhere
    pattern.from = pattern.from ? std::optional(*pattern.from / kMicroseconds) : std::nullopt;
    pattern.to = pattern.to ? std::optional(*pattern.to / kMicroseconds) : std::nullopt;
  }
  if (const auto attempt = KEDGE_TRY(find_integer(json, "attempt"))) {
    pattern.attempt = static_cast<int>(*attempt);
  }
  return pattern;
}

Result<ParsedSeries> parse_series(const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"runs", "keys", "kind", "x", "points", "from", "to", "attempt"}));
  ParsedSeries parsed;
  parsed.runs = KEDGE_TRY(parse_runs(json, request.caller));
  parsed.keys = KEDGE_TRY(find_texts(json, "keys")).value_or(std::vector<std::string>());
  if (parsed.runs.size() * parsed.keys.size() > kMaxSeries) {
    return fail(ErrorKind::Usage, fmt::format("{} series at once are too many; {} are allowed",
                                              parsed.runs.size() * parsed.keys.size(), kMaxSeries));
  }
  parsed.pattern = KEDGE_TRY(parse_pattern(json));
  return parsed;
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

Result<Response> read_series(const Api& api, const Request& request) {
  const ParsedSeries parsed = KEDGE_TRY(parse_series(request));
  store::SeriesRequest wanted = parsed.pattern;
  std::string text = "{\"series\":[";
  std::size_t left = kMaxAnswerPoints;
  for (const store::RunKey& run : parsed.runs) {
    wanted.run = run;
    for (const std::string& key : parsed.keys) {
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
  return json_response(std::move(text));
}

Result<Response> list_metrics(const Api& api, const Request& request) {
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
  return json_response(std::move(text));
}

Result<Response> read_history(const Api& api, const Request& request) {
  const auto format =
      parse_history_format(std::string(request.query_value("format").value_or("json")));
  if (!format) {
    return error_response(415, "the format is json, jsonl, csv or parquet");
  }
  HistoryRequest wanted{
      .run = run_key(request),
      .keys = {},
      .kind = KEDGE_TRY(parse_kind(std::string(request.query_value("kind").value_or("metric")))),
      .format = *format,
      .with_replaced = request.query_value("replaced") == "1"};
  if (const auto key = request.query_value("key")) {
    wanted.keys.emplace_back(*key);
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
  Response response;
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

void add_series_routes(Router& router, const Api& api) {
  const std::string run = "/api/v1/runs/{project}/{id}";
  router.add(Method::Post, "/api/v1/series",
             {.max_body_bytes = 8U << 20U, .is_scoped = true, .is_compressed = true},
             [&api](const Request& request) { return read_series(api, request); });
  router.add(Method::Get, run + "/metrics", {.is_compressed = true},
             [&api](const Request& request) { return list_metrics(api, request); });
  router.add(Method::Get, run + "/history", {},
             [&api](const Request& request) { return read_history(api, request); });
}

}  // namespace kedge::server
