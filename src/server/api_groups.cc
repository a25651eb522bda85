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

#include "server/internal/routes.h"
#include "store/groups.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMaxGroups = 1000;
constexpr std::size_t kMaxGroupFields = 200;
// Places of all groups together: an answer stays below 20 MB, before it is compressed.
constexpr std::size_t kMaxPlaces = 200'000;
constexpr double kUsPerSecond = 1e6;

Result<std::vector<std::string>> parse_by(const Input& input) {
  auto by = input.at("group").get<std::vector<std::string>>();
  if (by.empty() || by.size() > store::kMaxOrderTerms) {
    return fail(ErrorKind::Usage,
                fmt::format("'group' must be a list of 1 to {} fields", store::kMaxOrderTerms));
  }
  return by;
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

Result<http::Response> list_groups(const Api& api, const http::Request& request,
                                   const Input& input) {
  store::GroupRequest wanted{.search = KEDGE_TRY(search_of(input, request.caller)),
                             .by = KEDGE_TRY(parse_by(input)),
                             .fields = input.at("fields")};
  if (wanted.fields.size() > kMaxGroupFields) {
    return fail(ErrorKind::Usage, fmt::format("at most {} fields at once", kMaxGroupFields));
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
  return http::json_response(dump({{"groups", std::move(groups)},
                                   {"total", answer.total},
                                   {"runs", answer.run_total},
                                   {"warnings", answer.warnings}}));
}

Result<std::vector<store::GroupValues>> parse_only(const Input& list, std::size_t field_count) {
  const auto is_plain = [&](const nlohmann::json& values) {
    return values.is_array() && values.size() == field_count &&
           std::ranges::none_of(values, [](const auto& v) { return v.is_structured(); });
  };
  if (list.size() > kMaxGroups || !std::ranges::all_of(list, is_plain)) {
    return fail(ErrorKind::Usage,
                fmt::format("'only' must be a list of at most {} groups, each a list of {} values",
                            kMaxGroups, field_count));
  }
  std::vector<store::GroupValues> only;
  for (const Input& values : list) {
    only.emplace_back(values.begin(), values.end());
  }
  return only;
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

Result<http::Response> read_group_curves(const Api& api, const http::Request& request,
                                         const Input& input) {
  store::GroupCurvesRequest wanted{.search = KEDGE_TRY(search_of(input, request.caller)),
                                   .by = KEDGE_TRY(parse_by(input)),
                                   .only = {},
                                   .curve = curve_of(input)};
  wanted.curve.key = input.at("key");
  wanted.only = KEDGE_TRY(parse_only(input.at("only"), wanted.by.size()));
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
  return http::json_response(std::move(text));
}

}  // namespace

void add_group_routes(Routes& routes) {
  const http::RouteOptions options{.is_scoped = true, .is_compressed = true};
  routes.name("GroupValue", "string | number | boolean | null");  // null: the runs have none
  routes.name("FieldSpread", R"({
    runs: integer,  // that have it
    values: integer,  // different ones
    value?: GroupValue,  // where there is only one
    count?: integer,  // of numbers; this and the rest only where all are numbers
    mean?: WireNumber,
    sd?: WireNumber,  // n - 1
    min?: WireNumber,
    max?: WireNumber,
  })");
  routes.name("GroupFacts", R"({
    values: GroupValue[],  // one for each field of group
    runs: integer,
    states: {*: integer},
    fields: {*: FieldSpread},
  })");
  routes.name("GroupsAnswer", R"({
    groups: GroupFacts[],
    total: integer,  // groups
    runs: integer,  // that match
    warnings: string[],
  })");
  routes.name("WireGroupCurve", R"({
    values: GroupValue[],
    runs: integer,
    curves: integer,  // of these runs, that have points in the range
    binned: boolean,
    sampled: boolean,
    x: WireNumber[],
    n: integer[],  // runs that count there
    mean: WireNumber[],
    sd: WireNumber[],
    min: WireNumber[],
    max: WireNumber[],
  })");
  routes.add(http::Method::Post, "/api/v1/groups/runs",
             {.summary = "Runs in groups, each summed up over all its runs",
              .options = options,
              .body = R"(Search & {
                group: string[],  // the fields that runs are grouped by
                fields?: string[] = [],  // what to sum up of each group
                limit?: integer(0..1000) = 100,  // groups
              })",
              .answer = "GroupsAnswer"},
             list_groups);
  routes.add(http::Method::Post, "/api/v1/groups/series",
             {.summary = "One curve for each group of runs: mean, deviation and extremes over all "
                         "its runs",
              .options = options,
              .body = R"(CurveRequest & {
                project?: string = "",
                filter?: string = "",  // docs/reference/query.md
                trash?: boolean = false,
                group: string[],  // the fields that runs are grouped by
                only?: any[][] = [],  // just these groups, each by its values; else the largest
                limit?: integer(0..1000) = 100,  // groups; limit times points is at most 200000
                key: string(1..),
                points?: integer(2..2000) = 500,  // places on the x axis
              })",
              .answer = "{groups: WireGroupCurve[], total: integer}"},
             read_group_curves);
}

}  // namespace kedge::server
