// Runs in groups: rows for a table, and one curve for each group that counts all of its runs.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"
#include "store/groups.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMaxGroups = 1000;
constexpr std::size_t kMaxGroupFields = 200;
constexpr std::int64_t kMaxGroupPoints = 2000;
// Places of all groups together: an answer stays below 20 MB, before it is compressed.
constexpr std::size_t kMaxPlaces = 200'000;
constexpr double kUsPerSecond = 1e6;

Result<std::vector<std::string>> parse_by(const nlohmann::json& json) {
  auto by = KEDGE_TRY(find_texts(json, "group"));
  if (!by || by->empty() || by->size() > store::kMaxOrderTerms) {
    return fail(ErrorKind::Usage,
                fmt::format("'group' must be a list of 1 to {} fields", store::kMaxOrderTerms));
  }
  return *std::move(by);
}

nlohmann::json render_field_spread(const store::FieldSpread& field) {
  nlohmann::json json = {{"runs", field.run_count}, {"values", field.value_count}};
  if (field.value_count == 1) {
    json["value"] = field.value;
  }
  if (field.numbers) {
    json["count"] = field.numbers->count();
    json["mean"] = store::render_number(field.numbers->mean());
    json["sd"] = store::render_number(field.numbers->deviation());
    json["min"] = store::render_number(field.numbers->min());
    json["max"] = store::render_number(field.numbers->max());
  }
  return json;
}

Result<Response> list_groups(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(
      json, {"project", "filter", "order", "limit", "offset", "fields", "trash", "group"}));
  store::GroupRequest wanted{
      .search = KEDGE_TRY(parse_search(json, request.caller)),
      .by = KEDGE_TRY(parse_by(json)),
      .fields = KEDGE_TRY(find_texts(json, "fields")).value_or(std::vector<std::string>())};
  if (wanted.search.limit > kMaxGroups || wanted.fields.size() > kMaxGroupFields) {
    return fail(ErrorKind::Usage, fmt::format("at most {} groups and {} fields at once", kMaxGroups,
                                              kMaxGroupFields));
  }
  const store::GroupAnswer answer = KEDGE_TRY(api.store.group_runs(wanted, api.now_us()));
  nlohmann::json groups = nlohmann::json::array();
  for (const store::RunGroup& group : answer.groups) {
    nlohmann::json fields = nlohmann::json::object();
    for (std::size_t i = 0; i < group.fields.size(); ++i) {
      fields[wanted.fields[i]] = render_field_spread(group.fields[i]);
    }
    groups.push_back({{"values", group.values},
                      {"runs", group.run_count},
                      {"states", group.states},
                      {"fields", std::move(fields)}});
  }
  return json_response(dump({{"groups", std::move(groups)},
                             {"total", answer.total},
                             {"runs", answer.run_total},
                             {"warnings", answer.warnings}}));
}

Result<std::vector<store::GroupValues>> parse_only(const nlohmann::json& json,
                                                   std::size_t field_count) {
  std::vector<store::GroupValues> only;
  const auto list = json.find("only");
  if (list == json.end() || list->is_null()) {
    return only;
  }
  const auto is_plain = [&](const nlohmann::json& values) {
    return values.is_array() && values.size() == field_count &&
           std::ranges::none_of(values, [](const auto& v) { return v.is_structured(); });
  };
  if (!list->is_array() || list->size() > kMaxGroups || !std::ranges::all_of(*list, is_plain)) {
    return fail(ErrorKind::Usage,
                fmt::format("'only' must be a list of at most {} groups, each a list of {} values",
                            kMaxGroups, field_count));
  }
  for (const nlohmann::json& values : *list) {
    only.emplace_back(values.begin(), values.end());
  }
  return only;
}

Result<store::SeriesRequest> parse_group_curve(const nlohmann::json& json) {
  store::SeriesRequest curve{.run = {}, .key = KEDGE_TRY(find_text(json, "key")).value_or("")};
  const std::string kind = KEDGE_TRY(find_text(json, "kind")).value_or("metric");
  if (curve.key.empty() || (kind != "metric" && kind != "system")) {
    return fail(ErrorKind::Usage, "'key' names a metric, and 'kind' is metric or system");
  }
  curve.kind = kind == "system" ? store::MetricKind::System : store::MetricKind::Metric;
  curve.x = KEDGE_TRY(find_text(json, "x")).value_or("step");
  const std::int64_t points = KEDGE_TRY(find_integer(json, "points")).value_or(500);
  if (points < 2 || points > kMaxGroupPoints) {
    return fail(ErrorKind::Usage, fmt::format("points is 2 to {}", kMaxGroupPoints));
  }
  curve.points = static_cast<std::size_t>(points);
  const double scale = curve.x == "time" ? kUsPerSecond : 1;  // the store counts in seconds
  if (const auto from = KEDGE_TRY(find_number(json, "from"))) {
    curve.from = *from / scale;
  }
  if (const auto to = KEDGE_TRY(find_number(json, "to"))) {
    curve.to = *to / scale;
  }
  return curve;
}

template <typename Value>
void append_places(std::string& text, std::string_view name, std::size_t count, Value value) {
  fmt::format_to(std::back_inserter(text), ",\"{}\":[", name);
  for (std::size_t i = 0; i < count; ++i) {
    text += i > 0 ? "," : "";
    append_number(text, value(i));
  }
  text += ']';
}

void append_group_curve(std::string& text, const store::GroupCurve& curve, double x_scale) {
  const std::size_t count = curve.x.size();
  fmt::format_to(
      std::back_inserter(text), R"({{"values":{},"runs":{},"curves":{},"binned":{},"sampled":{})",
      dump(curve.values), curve.run_count, curve.curve_count, curve.is_binned, curve.is_sampled);
  append_places(text, "x", count, [&](std::size_t i) {
    return x_scale == 1 ? curve.x[i] : std::round(curve.x[i] * x_scale);
  });
  append_places(text, "n", count,
                [&](std::size_t i) { return static_cast<double>(curve.y[i].count()); });
  append_places(text, "mean", count, [&](std::size_t i) { return curve.y[i].mean(); });
  append_places(text, "sd", count, [&](std::size_t i) { return curve.y[i].deviation(); });
  append_places(text, "min", count, [&](std::size_t i) { return curve.y[i].min(); });
  append_places(text, "max", count, [&](std::size_t i) { return curve.y[i].max(); });
  text += '}';
}

Result<Response> read_group_curves(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"project", "filter", "trash", "limit", "group", "only", "key",
                               "kind", "x", "points", "from", "to"}));
  store::GroupCurvesRequest wanted{.search = KEDGE_TRY(parse_search(json, request.caller)),
                                   .by = KEDGE_TRY(parse_by(json)),
                                   .only = {},
                                   .curve = KEDGE_TRY(parse_group_curve(json))};
  wanted.only = KEDGE_TRY(parse_only(json, wanted.by.size()));
  if (wanted.search.limit * wanted.curve.points > kMaxPlaces) {
    return fail(ErrorKind::Usage,
                fmt::format("{} groups of {} points are too many; {} points are allowed in all",
                            wanted.search.limit, wanted.curve.points, kMaxPlaces));
  }
  const store::GroupCurves answer = KEDGE_TRY(api.store.group_curves(wanted, api.now_us()));
  const double x_scale = wanted.curve.x == "time" ? kUsPerSecond : 1;
  std::string text = "{\"groups\":[";
  for (const store::GroupCurve& curve : answer.groups) {
    text += text.back() == '[' ? "" : ",";
    append_group_curve(text, curve, x_scale);
  }
  text += fmt::format("],\"total\":{}}}", answer.total);
  return json_response(std::move(text));
}

}  // namespace

void add_group_routes(Router& router, const Api& api) {
  router.add(Method::Post, "/api/v1/groups/runs", {.is_scoped = true, .is_compressed = true},
             [&api](const Request& request) { return list_groups(api, request); });
  router.add(Method::Post, "/api/v1/groups/series", {.is_scoped = true, .is_compressed = true},
             [&api](const Request& request) { return read_group_curves(api, request); });
}

}  // namespace kedge::server
