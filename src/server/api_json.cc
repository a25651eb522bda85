#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "server/api.h"
#include "server/internal/routes.h"
#include "store/json_text.h"

namespace kedge::server {
namespace {

// dump() of nlohmann calls itself for each level, and the stack is not endless.
constexpr int kMaxDepth = 100;

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_text) {
      i += c == '\\' ? 1 : 0;
      is_in_text = c != '"';
    } else if (c == '"') {
      is_in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) {
        return true;
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
  if (is_too_deep(text)) {
    return fail(ErrorKind::Usage, fmt::format("the JSON is nested more than {} deep", kMaxDepth));
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view message = error.what();
    message.remove_prefix(std::min(message.find("] ") + 2, message.size()));
    return fail(ErrorKind::Usage, fmt::format("the body is not JSON: {}", message));
  }
}

Result<nlohmann::json> parse_object(const http::Request& request) {
  nlohmann::json json = KEDGE_TRY(parse_json(request.body));
  if (!json.is_object()) {
    return fail(ErrorKind::Usage,
                fmt::format("the body must be a JSON object, not {}", json.type_name()));
  }
  return json;
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

store::RunKey run_key(const http::Request& request) {
  return {request.parameter("project"), request.parameter("id")};
}

void append_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}

void append_text(std::string& out, std::string_view text) {
  store::append_json(out, text);
}

void Api::audit(const http::Request& request, std::string_view what, const std::string& target,
                const nlohmann::json& detail) const {
  const auto added = store.add_audit({.time_us = now_us(),
                                      .who = request.caller.name,
                                      .what = std::string(what),
                                      .target = target,
                                      .detail = detail});
  if (!added) {
    warn("the audit line '{} {}' is not written: {}", what, target, added.error().message);
  }
}

void add_api_routes(http::Router& router, const Api& api) {
  Routes routes(router, api);
  routes.add(http::Method::Get, "/health",
             {.summary = "OK: the server is ready; what MLflow's server says, too",
              .options = {.role = http::Role::None},
              .other_types = {"text/plain"}},
             [](const http::Request&, const Input&) {
               http::Response response{.body = std::string("OK")};
               response.headers.add("Content-Type", "text/plain; charset=utf-8");
               return response;
             });
  const auto described = std::make_shared<std::string>();
  routes.add(
      http::Method::Get, "/api/v1/openapi.json",
      {.summary = "This description", .options = {.role = http::Role::None}, .answer = "any"},
      [described](const http::Request&, const Input&) { return http::json_response(*described); });
  add_run_routes(routes);  // first: others extend its shapes
  add_log_routes(routes);
  add_ingest_routes(routes);
  add_series_routes(routes);
  add_group_routes(routes);
  add_project_routes(routes);
  add_record_routes(routes);
  add_file_routes(routes);
  add_artifact_routes(routes);
  add_model_routes(routes);
  add_view_routes(routes);
  add_event_routes(routes);
  add_user_routes(routes);
  add_sweep_routes(routes);
  *described = routes.openapi();
}

}  // namespace kedge::server
