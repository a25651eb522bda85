#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/metric_text.h"
#include "mlflow/internal/page_token.h"
#include "mlflow/internal/runs.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;
using track::Point;

constexpr std::size_t kMostRuns = 100;
constexpr std::int64_t kMostBulk = 25'000;  // as MLflow's own client asks for a page
constexpr std::int64_t kMostInterval = 2500;

bool same_value(double a, double b) {
  return a == b || (a != a && b != b);
}

// NaN comes first, as NULL does in SQL.
std::tuple<bool, double> by_value(double value) {
  return value != value ? std::tuple(false, 0.0) : std::tuple(true, value);
}

enum class Order : std::uint8_t { Time, Step };

// Everything that was ever logged: no attempt of MLflow's replaces another. The same point twice is
// one, because clients send again what they are not sure of.
Outcome<std::vector<Point>> read_points(const Call& call, const std::string& id,
                                        const std::string& key, Order order) {
  const auto run = load_run(call, id);
  if (!run && run.error().code == Code::ResourceDoesNotExist) {
    return std::vector<Point>();
  }
  if (!run) {
    return std::unexpected(run.error());
  }
  track::Curve curve = KEDGE_TRY(call.api.store.read_history(run->key, key));
  std::vector<Point> points = std::move(curve.points);
  if (run->facts.source == "mlflow") {
    points.insert(points.end(), curve.replaced.begin(), curve.replaced.end());
  }
  std::ranges::sort(points, {}, [&](const Point& point) {
    const std::int64_t time = to_ms(point.time_us);
    return order == Order::Time ? std::tuple(time, point.step, by_value(point.value))
                                : std::tuple(point.step, time, by_value(point.value));
  });
  const auto doubled = std::ranges::unique(points, [](const Point& a, const Point& b) {
    return a.step == b.step && to_ms(a.time_us) == to_ms(b.time_us) && same_value(a.value, b.value);
  });
  points.erase(doubled.begin(), doubled.end());
  return points;
}

void append_point(std::string& out, const std::string& key, const Point& point) {
  out += out.back() == '[' ? "" : ",";
  append_metric(out,
                {.key = key, .value = point.value, .time_us = point.time_us, .step = point.step});
}

void append_point_of(std::string& out, const std::string& key, const Point& point,
                     const std::string& run_id) {
  append_point(out, key, point);
  out += ",\"run_id\":";
  server::append_text(out, run_id);
  out += '}';
}

std::string finish_list(std::string out) {
  return out.back() == '[' ? "{}" : out + "]}";
}

Outcome<Response> get_history(const Call& call) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  const std::string key = KEDGE_TRY(call.fields.need_text("metric_key"));
  const auto limit = KEDGE_TRY(call.fields.find_integer("max_results"));
  if (limit && *limit < 1) {
    return refuse(
        fmt::format("Invalid value {} for parameter 'max_results' supplied. It must be a "
                    "positive integer",
                    *limit));
  }
  const std::size_t offset = KEDGE_TRY(parse_page_token(KEDGE_TRY(call.fields.text("page_token"))));
  const auto points = KEDGE_TRY(read_points(call, id, key, Order::Time));
  const std::int64_t count = std::min(limit.value_or(kMostBulk), kMostBulk);
  const std::size_t end = std::min(points.size(), offset + static_cast<std::size_t>(count));
  std::string out = "{\"metrics\":[";
  for (std::size_t i = offset; i < end; ++i) {
    append_point(out, key, points[i]);
    out += '}';
  }
  if (end >= points.size() || out.back() == '[') {
    return reply_text(finish_list(std::move(out)));
  }
  return reply_text(fmt::format("{}],\"next_page_token\":\"{}\"}}", out, make_page_token(end)));
}

Outcome<Response> get_bulk(const Call& call) {
  auto ids = KEDGE_TRY(call.fields.texts("run_id"));
  if (ids.empty()) {
    return refuse("GetMetricHistoryBulk request must specify at least one run_id.");
  }
  if (ids.size() > kMostRuns) {
    return refuse(
        fmt::format("GetMetricHistoryBulk request cannot specify more than {} run_ids. "
                    "Received {} run_ids.",
                    kMostRuns, ids.size()));
  }
  const std::string key = KEDGE_TRY(call.fields.text("metric_key"));
  if (key.empty()) {
    return refuse("GetMetricHistoryBulk request must specify a metric_key.");
  }
  const std::int64_t limit = KEDGE_TRY(call.fields.find_integer("max_results")).value_or(kMostBulk);
  if (limit < 1) {
    return refuse(
        fmt::format("Invalid value {} for parameter 'max_results' supplied. It must be a "
                    "positive integer",
                    limit));
  }
  std::ranges::sort(ids);
  std::string out = "{\"metrics\":[";
  std::int64_t count = 0;
  for (const std::string& id : ids) {
    for (const Point& point : KEDGE_TRY(read_points(call, id, key, Order::Time))) {
      if (count++ < std::min(limit, kMostBulk)) {
        append_point_of(out, key, point, id);
      }
    }
  }
  return reply_text(finish_list(std::move(out)));
}

// Equal parts of the rows, the first row of each; and always the last row of all.
std::vector<Point> thin_out(const std::vector<Point>& points, std::size_t limit) {
  if (points.size() <= limit) {
    return points;
  }
  const std::size_t whole = points.size() / limit;
  const std::size_t longer = points.size() % limit;  // parts with one row more
  std::vector<Point> kept;
  std::size_t begin = 0;
  for (std::size_t part = 0; part < limit; ++part) {
    kept.push_back(points[begin]);
    begin += whole + (part < longer ? 1 : 0);
  }
  kept.back() = points.back();
  return kept;
}

struct Steps {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

Outcome<Steps> read_steps(const Fields& fields) {
  const auto first = KEDGE_TRY(fields.find_integer("start_step"));
  const auto last = KEDGE_TRY(fields.find_integer("end_step"));
  if (first.has_value() != last.has_value()) {
    return refuse("If either start step or end step are specified, both must be specified.");
  }
  if (!first) {
    return Steps{};
  }
  if (*first > *last) {
    return refuse(
        fmt::format("end_step must be greater than start_step. Found start_step={} and "
                    "end_step={}.",
                    *first, *last));
  }
  return Steps{*first, *last};
}

}  // namespace

Outcome<http::Response> get_metric_interval(const Call& call) {
  const auto ids = KEDGE_TRY(call.fields.texts("run_ids"));
  if (ids.empty()) {
    return std::unexpected(missing("run_ids"));
  }
  const std::string key = KEDGE_TRY(call.fields.need_text("metric_key"));
  if (ids.size() > kMostRuns) {
    return refuse(
        fmt::format("GetMetricHistoryBulkInterval request must specify at most {} "
                    "run_ids. Received {} run_ids.",
                    kMostRuns, ids.size()));
  }
  const std::int64_t limit =
      KEDGE_TRY(call.fields.find_integer("max_results")).value_or(kMostInterval);
  if (limit < 1 || limit > kMostInterval) {
    return refuse(fmt::format("max_results must be between 1 and {}.", kMostInterval));
  }
  const Steps steps = KEDGE_TRY(read_steps(call.fields));
  std::string out = "{\"metrics\":[";
  for (const std::string& id : ids) {
    auto points = KEDGE_TRY(read_points(call, id, key, Order::Step));
    std::erase_if(points, [&](const Point& point) {
      return point.step < steps.first || point.step > steps.last;
    });
    for (const Point& point : thin_out(points, static_cast<std::size_t>(limit))) {
      append_point_of(out, key, point, id);
    }
  }
  return reply_text(finish_list(std::move(out)));
}

void add_history_calls(Calls& calls) {
  calls.read(Method::Get, "metrics/get-history", get_history);
  calls.read(Method::Get, "metrics/get-history-bulk", get_bulk);
  calls.read(Method::Get, "metrics/get-history-bulk-interval", get_metric_interval);
}

}  // namespace kedge::mlflow
