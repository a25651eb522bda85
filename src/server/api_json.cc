#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "core/nearest.h"
#include "server/api.h"
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

Error wrong_type(const char* name, std::string_view wanted, const nlohmann::json& value) {
  return {ErrorKind::Usage,
          fmt::format("'{}' must be {}, not {}", name, wanted, value.type_name())};
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

Result<nlohmann::json> parse_object(const Request& request) {
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

store::RunKey run_key(const Request& request) {
  return {request.parameter("project"), request.parameter("id")};
}

Result<std::optional<std::string>> find_text(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_string()) {
    return std::unexpected(wrong_type(name, "a text", *found));
  }
  return found->get<std::string>();
}

Result<std::optional<double>> find_number(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_number()) {
    return std::unexpected(wrong_type(name, "a number", *found));
  }
  return found->get<double>();
}

Result<std::optional<std::int64_t>> find_integer(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_number_integer()) {
    return std::unexpected(wrong_type(name, "a whole number", *found));
  }
  return found->get<std::int64_t>();
}

Result<std::optional<std::vector<std::string>>> find_texts(const nlohmann::json& json,
                                                           const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_array()) {
    return std::unexpected(wrong_type(name, "a list of texts", *found));
  }
  std::vector<std::string> texts;
  for (const nlohmann::json& text : *found) {
    if (!text.is_string()) {
      return std::unexpected(wrong_type(name, "a list of texts", text));
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

Result<void> check_names(const nlohmann::json& json, std::initializer_list<const char*> names) {
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(known, name) == known.end()) {
      return std::unexpected(unknown_name("field", name, known));
    }
  }
  return {};
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

void Api::audit(const Request& request, std::string_view what, const std::string& target,
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

void add_api_routes(Router& router, const Api& api) {
  add_health_routes(router);
  add_log_routes(router, api);
  add_ingest_routes(router, api);
  add_series_routes(router, api);
  add_group_routes(router, api);
  add_project_routes(router, api);
  add_run_routes(router, api);
  add_record_routes(router, api);
  add_file_routes(router, api);
  add_artifact_routes(router, api);
  add_model_routes(router, api);
  add_view_routes(router, api);
  add_event_routes(router, api);
  add_user_routes(router, api);
  add_sweep_routes(router, api);
}

}  // namespace kedge::server
