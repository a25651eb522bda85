#include "use/serve/api_error.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::use {
namespace {

std::string_view type_of(int status) {
  if (status == 401) {
    return "authentication_error";
  }
  if (status == 429) {
    return "rate_limit_error";
  }
  return status < 500 ? "invalid_request_error" : "server_error";
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

}  // namespace

std::string render_error(const ApiError& error) {
  const nlohmann::json body = {{"error",
                                {{"message", error.message},
                                 {"type", type_of(error.status)},
                                 {"param", text_or_null(error.param)},
                                 {"code", text_or_null(error.code)}}}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

http::Response error_answer(const ApiError& error) {
  http::Response response = http::json_response(render_error(error), error.status);
  if (error.status == 429 || error.status == 503) {
    response.headers.add("Retry-After", "1");
  }
  if (error.status == 401) {
    response.headers.add("WWW-Authenticate", "Bearer");
  }
  return response;
}

http::Response refuse_as_openai(int status, const http::Refusal& refusal) {
  const std::string hint = refusal.hint.empty() ? "" : fmt::format(" ({})", refusal.hint);
  return error_answer({.status = status, .message = refusal.message + hint});
}

ApiError api_error(const Error& error, std::string param) {
  const std::string hint = error.hint.empty() ? "" : fmt::format(" ({})", error.hint);
  const int status = error.kind == ErrorKind::Usage         ? 400
                     : error.kind == ErrorKind::Unavailable ? 429
                     : error.kind == ErrorKind::Interrupted ? 503
                                                            : 500;
  return {.status = status, .message = error.message + hint, .param = std::move(param)};
}

}  // namespace kedge::use
