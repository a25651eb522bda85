#include "cli/server_calls.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::cli {
namespace {

ErrorKind kind_of(int status) {
  switch (status) {
    case 404:
      return ErrorKind::NotFound;
    case 400:
    case 401:
    case 403:
    case 409:
    case 413:
    case 422:
      return ErrorKind::Usage;
    default:
      return ErrorKind::Unavailable;
  }
}

// The server's {"error": {"message", "hint"}}, or the status where it is something else.
Error refusal(const std::string& url, const HttpResponse& response) {
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_object()) {
    const nlohmann::json& error = json["error"];
    return {kind_of(response.status), error.value("message", "refused"), error.value("hint", "")};
  }
  return {kind_of(response.status), fmt::format("{} answers with status {}", url, response.status),
          "is it a kedge server?"};
}

}  // namespace

std::optional<std::string> server_of(const Arguments& arguments) {
  const char* const given = std::getenv("KEDGE_SERVER");
  const std::string url = arguments.value("--server", given == nullptr ? "" : given);
  return url.empty() ? std::nullopt : std::optional(url);
}

Result<ServerCalls> ServerCalls::open(const std::string& url, const Arguments& arguments) {
  auto address = KEDGE_TRY(track::find_server(url, arguments.value("--token-file")));
  return ServerCalls(std::move(address), KEDGE_TRY(HttpClient::make()));
}

HttpRequest ServerCalls::request(std::string method, const std::string& path) const {
  HttpRequest request{.method = std::move(method), .url = address_.url + path};
  if (!address_.token.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + address_.token);
  }
  return request;
}

Result<HttpResponse> ServerCalls::exchange(const HttpRequest& request) {
  auto response = client_.send(request);
  if (!response && response.error().kind == ErrorKind::Unavailable) {
    return fail(ErrorKind::Unavailable,
                fmt::format("cannot reach {}: {}", address_.url, response.error().message),
                "is `kedge server` running there?");
  }
  if (response && !response->is_ok()) {
    return std::unexpected(refusal(address_.url, *response));
  }
  return response;
}

Result<nlohmann::json> ServerCalls::fetch(const std::string& path) {
  return send("GET", path, nullptr);
}

Result<nlohmann::json> ServerCalls::send(const std::string& method, const std::string& path,
                                         const nlohmann::json& body) {
  HttpRequest call = request(method, path);
  const std::string text = body.is_null() ? "" : body.dump();
  if (!body.is_null()) {
    call.headers.emplace_back("Content-Type", "application/json");
    call.body = text;
  }
  call.max_response_bytes = 1ULL << 30U;
  const HttpResponse response = KEDGE_TRY(exchange(call));
  if (response.body.empty()) {
    return nlohmann::json();
  }
  auto json = nlohmann::json::parse(response.body, nullptr, false);
  if (json.is_discarded()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} does not answer in JSON", address_.url),
                "is it a kedge server?");
  }
  return json;
}

Result<void> ServerCalls::send_file(const std::string& path, const Path& file) {
  HttpRequest call = request("PUT", path);
  call.body_file = HttpBodyFile{.path = file};
  KEDGE_TRY(exchange(call));
  return {};
}

Result<void> ServerCalls::fetch_file(
    const std::string& path, const std::function<Result<void>(std::string_view bytes)>& on_body) {
  HttpRequest call = request("GET", path);
  call.on_body = on_body;
  KEDGE_TRY(exchange(call));
  return {};
}

}  // namespace kedge::cli
