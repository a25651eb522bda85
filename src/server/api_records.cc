#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxRecordBytes = 128U << 20U;

nlohmann::json render_record(const store::Record& record) {
  return {{"type", record.type},       {"key", record.key},         {"step", record.step},
          {"time_us", record.time_us}, {"attempt", record.attempt}, {"body", record.body}};
}

Result<http::Response> read_records(const Api& api, const http::Request& request,
                                    const Input& input) {
  store::RecordQuery query;
  query.type = input.at("type");
  query.key = input.at("key");
  query.from_step = find<std::int64_t>(input, "from_step");
  query.to_step = find<std::int64_t>(input, "to_step");
  query.limit = input.at("limit");
  query.offset = find<std::size_t>(input, "offset");
  const auto answer = KEDGE_TRY(api.store.read_records(run_key(request), query));
  std::string text = fmt::format("{{\"cut\":{},\"records\":[", answer.is_cut);
  for (const store::Record& record : answer.records) {
    text += text.back() == '[' ? "" : ",";
    text += dump(render_record(record));
  }
  text += fmt::format("],\"keys\":{},\"total\":{}}}", dump(answer.keys), answer.total);
  return http::json_response(std::move(text));
}

Result<http::Response> list_record_keys(const Api& api, const http::Request& request) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::RecordKey& key : KEDGE_TRY(api.store.list_record_keys(run_key(request)))) {
    list.push_back({{"type", key.type}, {"key", key.key}, {"count", key.count}});
  }
  return http::json_response(dump({{"keys", std::move(list)}}));
}

Result<http::Response> add_records(const Api& api, const http::Request& request,
                                   const Input& input) {
  std::vector<store::Record> records;
  for (const Input& json : input.at("records")) {
    records.push_back({.type = json.at("type"),
                       .key = json.at("key"),
                       .step = json.at("step"),
                       .time_us = json.value("time_us", api.now_us()),
                       .attempt = json.at("attempt"),
                       .body = json.value("body", Input::object())});
  }
  const std::size_t count = records.size();
  KEDGE_TRY(api.store.add_records(run_key(request), std::move(records), api.now_us()));
  return http::json_response(dump({{"accepted", count}}));
}

Result<http::Response> read_console(const Api& api, const http::Request& request,
                                    const Input& input) {
  const auto console =
      KEDGE_TRY(api.store.read_console(run_key(request), input.at("from"), input.at("limit")));
  std::string text = "{\"lines\":[";
  for (const store::ConsoleLine& line : console.lines) {
    fmt::format_to(std::back_inserter(text),
                   "{}{{\"n\":{},\"time_us\":{},\"text\":", text.back() == '[' ? "" : ",", line.n,
                   line.time_us);
    append_text(text, line.text);
    text += '}';
  }
  text += fmt::format("],\"total\":{}}}", console.total);
  return http::json_response(std::move(text));
}

Result<http::Response> add_console(const Api& api, const http::Request& request,
                                   const Input& input) {
  const std::int64_t time_us = input.value("time_us", api.now_us());
  std::vector<store::ConsoleLine> lines;
  for (const Input& text : input.at("lines")) {
    lines.push_back({.time_us = time_us, .text = text});
  }
  const std::size_t count = lines.size();
  KEDGE_TRY(api.store.add_console(run_key(request), std::move(lines), api.now_us()));
  return http::json_response(dump({{"accepted", count}}));
}

Result<http::Response> list_alerts(const Api& api, const http::Request& request,
                                   const Input& input) {
  const std::string project =
      request.caller.project.empty() ? input.at("project") : Input(request.caller.project);
  nlohmann::json list = nlohmann::json::array();
  for (const store::Alert& alert : KEDGE_TRY(api.store.list_alerts(project, input.at("limit")))) {
    nlohmann::json json = render_record(alert.record);
    json["project"] = alert.run.project;
    json["id"] = alert.run.id;
    const auto facts = api.store.find_facts(alert.run);
    json["name"] = facts ? facts->name : "";
    list.push_back(std::move(json));
  }
  return http::json_response(dump({{"alerts", std::move(list)}}));
}

}  // namespace

void add_record_routes(Routes& routes) {
  const std::string run = "/api/v1/runs/{project}/{id}";
  const http::RouteOptions write = {.role = http::Role::Write, .max_body_bytes = kMaxRecordBytes};
  routes.name("LogRecord", R"({
    type: string,  // histogram, table, image, ...
    key: string,
    step: integer,
    time_us: time,
    attempt: integer,
    body: {*: any},
  })");
  routes.name("RecordAnswer", R"({
    records: LogRecord[],
    cut: boolean,  // the answer was full: older ones were left out
    keys: string[],
    total: integer,  // that match, whatever the limit
  })");
  routes.name("RecordKey", "{type: string, key: string, count: integer}");
  routes.name("ConsoleLine", "{n: integer, time_us: time, text: string}");
  routes.name("ConsoleAnswer", "{lines: ConsoleLine[], total: integer}");
  routes.name("Alert", R"(LogRecord & {
    project: string,
    id: string,
    name: string,  // the run's
  })");
  routes.add(http::Method::Get, run + "/records",
             {.summary = "What a run logged besides curves, the newest of it",
              .query = R"({
                type?: string = "",
                key?: string = "",
                from_step?: integer,
                to_step?: integer,
                offset?: integer(0..),  // from this one on, the oldest is 0; else the newest
                limit?: integer(0..10000) = 100,
              })",
              .answer = "RecordAnswer"},
             read_records);
  routes.add(http::Method::Post, run + "/records",
             {.summary = "Log records",
              .options = write,
              .body = R"({records: {
                type: string(1..),
                key?: string = "",
                step?: integer = 0,
                time_us?: time,
                attempt?: integer = 1,
                body?: {*: any},
              }[]})",
              .answer = "{accepted: integer}"},
             add_records);
  routes.add(http::Method::Get, run + "/records/keys",
             {.summary = "Under which types and keys a run has logged records, and how many",
              .answer = "{keys: RecordKey[]}"},
             list_record_keys);
  routes.add(http::Method::Get, run + "/console",
             {.summary = "What a run printed",
              .query = R"({
                from?: integer(0..) = 0,  // number of the first line
                limit?: integer(0..100000) = 1000,
              })",
              .answer = "ConsoleAnswer"},
             read_console);
  routes.add(http::Method::Post, run + "/console",
             {.summary = "Add lines",
              .options = write,
              .body = "{lines: string[], time_us?: time}",
              .answer = "{accepted: integer}"},
             add_console);
  routes.add(http::Method::Get, "/api/v1/alerts",
             {.summary = "The newest alerts",
              .query = "{project?: string = \"\", limit?: integer(0..10000) = 100}",
              .answer = "{alerts: Alert[]}"},
             list_alerts);
}

}  // namespace kedge::server
