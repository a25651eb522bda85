#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxRecordBytes = 128U << 20U;
constexpr std::int64_t kMaxRecords = 10'000;
constexpr std::int64_t kMaxLines = 100'000;

nlohmann::json render_record(const store::Record& record) {
  return {{"type", record.type},       {"key", record.key},         {"step", record.step},
          {"time_us", record.time_us}, {"attempt", record.attempt}, {"body", record.body}};
}

Result<std::size_t> limit_of(const Request& request, std::int64_t fallback, std::int64_t most) {
  const std::int64_t limit = KEDGE_TRY(request.query_number("limit", fallback));
  if (limit < 0 || limit > most) {
    return fail(ErrorKind::Usage, fmt::format("limit is 0 to {}", most));
  }
  return static_cast<std::size_t>(limit);
}

Result<std::optional<std::int64_t>> optional_number(const Request& request, const char* name) {
  if (!request.query_value(name)) {
    return std::nullopt;
  }
  return KEDGE_TRY(request.query_number(name, 0));
}

Result<Response> read_records(const Api& api, const Request& request) {
  store::RecordQuery query;
  query.type = request.query_value("type").value_or("");
  query.key = request.query_value("key").value_or("");
  query.from_step = KEDGE_TRY(optional_number(request, "from_step"));
  query.to_step = KEDGE_TRY(optional_number(request, "to_step"));
  query.limit = KEDGE_TRY(limit_of(request, 100, kMaxRecords));
  if (const auto offset = KEDGE_TRY(optional_number(request, "offset"))) {
    if (*offset < 0) {
      return fail(ErrorKind::Usage, "offset is 0 or more");
    }
    query.offset = static_cast<std::size_t>(*offset);
  }
  const auto answer = KEDGE_TRY(api.store.read_records(run_key(request), query));
  std::string text = fmt::format("{{\"cut\":{},\"records\":[", answer.is_cut);
  for (const store::Record& record : answer.records) {
    text += text.back() == '[' ? "" : ",";
    text += dump(render_record(record));
  }
  text += fmt::format("],\"keys\":{},\"total\":{}}}", dump(answer.keys), answer.total);
  return json_response(std::move(text));
}

Result<Response> list_record_keys(const Api& api, const Request& request) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::RecordKey& key : KEDGE_TRY(api.store.list_record_keys(run_key(request)))) {
    list.push_back({{"type", key.type}, {"key", key.key}, {"count", key.count}});
  }
  return json_response(dump({{"keys", std::move(list)}}));
}

Result<store::Record> parse_record(const nlohmann::json& json, std::int64_t now_us) {
  if (!json.is_object()) {
    return fail(ErrorKind::Usage, "a record must be an object");
  }
  KEDGE_TRY(check_names(json, {"type", "key", "step", "time_us", "attempt", "body"}));
  store::Record record;
  record.type = KEDGE_TRY(find_text(json, "type")).value_or("");
  record.key = KEDGE_TRY(find_text(json, "key")).value_or("");
  if (record.type.empty()) {
    return fail(ErrorKind::Usage, "a record needs a type");
  }
  record.step = KEDGE_TRY(find_integer(json, "step")).value_or(0);
  record.time_us = KEDGE_TRY(find_integer(json, "time_us")).value_or(now_us);
  record.attempt = static_cast<int>(KEDGE_TRY(find_integer(json, "attempt")).value_or(1));
  record.body = json.value("body", nlohmann::json::object());
  return record;
}

Result<Response> add_records(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"records"}));
  const auto list = json.find("records");
  if (list == json.end() || !list->is_array()) {
    return fail(ErrorKind::Usage, "'records' must be a list");
  }
  std::vector<store::Record> records;
  for (const nlohmann::json& record : *list) {
    records.push_back(KEDGE_TRY(parse_record(record, api.now_us())));
  }
  const std::size_t count = records.size();
  KEDGE_TRY(api.store.add_records(run_key(request), std::move(records), api.now_us()));
  return json_response(dump({{"accepted", count}}));
}

Result<Response> read_console(const Api& api, const Request& request) {
  const std::int64_t from = KEDGE_TRY(request.query_number("from", 0));
  if (from < 0) {
    return fail(ErrorKind::Usage, "from is 0 or more");
  }
  const auto console =
      KEDGE_TRY(api.store.read_console(run_key(request), static_cast<std::uint64_t>(from),
                                       KEDGE_TRY(limit_of(request, 1000, kMaxLines))));
  std::string text = "{\"lines\":[";
  for (const store::ConsoleLine& line : console.lines) {
    fmt::format_to(std::back_inserter(text),
                   "{}{{\"n\":{},\"time_us\":{},\"text\":", text.back() == '[' ? "" : ",", line.n,
                   line.time_us);
    append_text(text, line.text);
    text += '}';
  }
  text += fmt::format("],\"total\":{}}}", console.total);
  return json_response(std::move(text));
}

Result<Response> add_console(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"lines", "time_us"}));
  const std::int64_t time_us = KEDGE_TRY(find_integer(json, "time_us")).value_or(api.now_us());
  std::vector<store::ConsoleLine> lines;
  for (std::string& text :
       KEDGE_TRY(find_texts(json, "lines")).value_or(std::vector<std::string>())) {
    lines.push_back({.time_us = time_us, .text = std::move(text)});
  }
  const std::size_t count = lines.size();
  KEDGE_TRY(api.store.add_console(run_key(request), std::move(lines), api.now_us()));
  return json_response(dump({{"accepted", count}}));
}

Result<Response> list_alerts(const Api& api, const Request& request) {
  const std::string project(request.caller.project.empty()
                                ? request.query_value("project").value_or("")
                                : std::string_view(request.caller.project));
  nlohmann::json list = nlohmann::json::array();
  const std::size_t limit = KEDGE_TRY(limit_of(request, 100, kMaxRecords));
  for (const store::Alert& alert : KEDGE_TRY(api.store.list_alerts(project, limit))) {
    nlohmann::json json = render_record(alert.record);
    json["project"] = alert.run.project;
    json["id"] = alert.run.id;
    const auto facts = api.store.find_facts(alert.run);
    json["name"] = facts ? facts->name : "";
    list.push_back(std::move(json));
  }
  return json_response(dump({{"alerts", std::move(list)}}));
}

}  // namespace

void add_record_routes(Router& router, const Api& api) {
  const auto add = [&](Method method, std::string pattern, RouteOptions options,
                       Result<Response> (*handler)(const Api&, const Request&)) {
    router.add(method, std::move(pattern), options,
               [&api, handler](const Request& request) { return handler(api, request); });
  };
  const std::string run = "/api/v1/runs/{project}/{id}";
  const RouteOptions write = {.role = Role::Write, .max_body_bytes = kMaxRecordBytes};
  add(Method::Get, run + "/records", {}, read_records);
  add(Method::Post, run + "/records", write, add_records);
  add(Method::Get, run + "/records/keys", {}, list_record_keys);
  add(Method::Get, run + "/console", {}, read_console);
  add(Method::Post, run + "/console", write, add_console);
  add(Method::Get, "/api/v1/alerts", {}, list_alerts);
}

}  // namespace kedge::server
