#include "track/server_link.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zstd.h>

#include "core/file.h"
#include "core/http_client.h"
#include "core/result.h"
#include "core/url.h"
#include "track/owner_key.h"

namespace kedge::track {
namespace {

// Below this a request is one packet either way.
constexpr std::size_t kCompressBytes = 2048;

constexpr int kConflict = 409;

bool may_pass(int status) {
  return status >= 500 || status == 408 || status == 425 || status == 429;
}

std::string trim(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

// What the server says is wrong, or its status.
Error refusal(const HttpResponse& response, const std::string& url) {
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  std::string message = fmt::format("status {}", response.status);
  std::string hint;
  if (json.is_object() && json.contains("error") && json["error"].is_object()) {
    const auto text = [&](const char* key) {
      const auto found = json["error"].find(key);
      return found != json["error"].end() && found->is_string() ? found->get<std::string>()
                                                                : std::string();
    };
    message += ": " + text("message");
    hint = text("hint");
  }
  if (response.status == 401) {
    hint =
        "the server's owner needs no token; others give theirs: $KEDGE_TOKEN, track.token_file, or "
        "kedge sync --token-file FILE";
  }
  const ErrorKind kind = may_pass(response.status)                          ? ErrorKind::Unavailable
                         : response.status == 404 || response.status == 405 ? ErrorKind::NotFound
                                                                            : ErrorKind::Usage;
  return {kind, fmt::format("{} answers {}", url, message), std::move(hint)};
}

Result<ServerPosition> parse_position(const std::string& body, const std::string& url) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("next_seq") || !json["next_seq"].is_number_unsigned()) {
    return fail(ErrorKind::Unavailable, fmt::format("{} gives an answer without next_seq", url),
                "is that a kedge server?");
  }
  return ServerPosition{json["next_seq"].get<std::uint64_t>(),
                        json.contains("digest") && json["digest"].is_string()
                            ? json["digest"].get<std::string>()
                            : std::string()};
}

std::string run_path(std::string_view kind, const RunName& run) {
  return fmt::format("/api/v1/{}/{}/{}", kind, encode_url_part(run.project),
                     encode_url_part(run.id));
}

std::optional<std::string> compress(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1);
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) {
    return std::nullopt;
  }
  packed.resize(size);
  return packed;
}

}  // namespace

Result<ServerAddress> find_server(const std::string& url, const Path& token_file) {
  ServerAddress address{.url = url.find("://") == std::string::npos ? "http://" + url : url};
  while (address.url.ends_with('/')) {
    address.url.pop_back();
  }
  const std::size_t host = address.url.find("://") + 3;
  if (address.url.substr(host, address.url.find('/', host) - host).find('@') != std::string::npos) {
    return fail(ErrorKind::Usage, "the server's address must not hold a user or a password",
                "put a token into a file and name it by track.token_file, or set $KEDGE_TOKEN");
  }
  const char* const token = std::getenv("KEDGE_TOKEN");
  address.is_token_given = !token_file.empty() || token != nullptr;
  if (!token_file.empty()) {
    address.token = trim(KEDGE_TRY(read_file(token_file)));
  } else if (token != nullptr) {
    address.token = trim(token);
  } else {
    address.token = find_owner_key(address.url).value_or("");
  }
  return address;
}

Result<ServerLink> ServerLink::open(ServerAddress address, std::function<bool()> should_stop) {
  HttpClient client = KEDGE_TRY(HttpClient::make());
  return ServerLink(std::move(address), std::move(client), std::move(should_stop));
}

HttpRequest ServerLink::request(std::string method, const std::string& path) const {
  HttpRequest request{.method = std::move(method), .url = address_.url + path};
  request.connect_timeout = std::chrono::seconds(5);
  request.stall_timeout = std::chrono::seconds(20);
  request.max_response_bytes = 16U << 20U;
  request.should_stop = should_stop_;
  return request;
}

// A server that was away when its key was looked for, or that has another one now.
bool ServerLink::find_other_key() {
  auto key = address_.is_token_given ? std::nullopt : find_owner_key(address_.url);
  if (!key || *key == address_.token) {
    return false;
  }
  address_.token = std::move(*key);
  return true;
}

Result<HttpResponse> ServerLink::exchange(const HttpRequest& request) {
  const auto send = [&] {
    HttpRequest signed_request = request;
    if (!address_.token.empty()) {
      signed_request.headers.emplace_back("Authorization", "Bearer " + address_.token);
    }
    return client_.send(signed_request);
  };
  constexpr int kUnauthorized = 401;
  auto response = send();
  if (response && response->status == kUnauthorized && find_other_key()) {
    response = send();
  }
  has_answered_ |= response.has_value();
  if (response && !response->is_ok() && response->status != kConflict) {
    return std::unexpected(refusal(*response, address_.url));
  }
  // A body that was cut or too long is as good as none.
  if (!response && response.error().kind == ErrorKind::Corrupt) {
    response.error().kind = ErrorKind::Unavailable;
  }
  return response;
}

Result<ServerPosition> ServerLink::fetch_position(const RunName& run, const std::string& writer) {
  const auto response =
      KEDGE_TRY(exchange(request("GET", run_path("ingest", run) + "/" + encode_url_part(writer))));
  return parse_position(response.body, address_.url);
}

Result<ServerPosition> ServerLink::send_frames(const RunName& run, const std::string& writer,
                                               std::uint64_t from_seq, std::string_view frames) {
  HttpRequest post = request("POST", fmt::format("{}/{}?from_seq={}", run_path("ingest", run),
                                                 encode_url_part(writer), from_seq));
  post.headers.emplace_back("Content-Type", "application/octet-stream");
  const auto packed = frames.size() < kCompressBytes ? std::nullopt : compress(frames);
  if (packed) {
    post.headers.emplace_back("Content-Encoding", "zstd");
  }
  post.body = packed ? std::string_view(*packed) : frames;
  return parse_position(KEDGE_TRY(exchange(post)).body, address_.url);
}

Result<void> ServerLink::send_facts(const RunName& run, const nlohmann::json& facts) {
  HttpRequest put = request("PUT", run_path("ingest", run));
  put.headers.emplace_back("Content-Type", "application/json");
  const std::string body = facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  put.body = body;
  KEDGE_TRY(exchange(put));
  return {};
}

Result<std::map<std::string, ServerFile>> ServerLink::fetch_files(const RunName& run) {
  const auto response = KEDGE_TRY(exchange(request("GET", run_path("runs", run) + "/files")));
  const auto json = nlohmann::json::parse(response.body, nullptr, false);
  if (!json.is_object() || !json.contains("files") || !json["files"].is_array()) {
    return fail(ErrorKind::Unavailable, fmt::format("{} gives no list of files", address_.url));
  }
  std::map<std::string, ServerFile> files;
  for (const nlohmann::json& file : json["files"]) {
    if (file.is_object() && file.contains("path") && file["path"].is_string() &&
        file.contains("size") && file["size"].is_number_unsigned()) {
      files[file["path"].get<std::string>()] = {file["size"].get<std::uint64_t>(),
                                                file.value("digest", "")};
    }
  }
  return files;
}

Result<void> ServerLink::send_file(const RunName& run, const std::string& path, const Path& file) {
  HttpRequest put = request("PUT", run_path("runs", run) + "/files/" + encode_url_path(path));
  put.headers.emplace_back("Content-Type", "application/octet-stream");
  put.body_file = HttpBodyFile{.path = file};
  KEDGE_TRY(exchange(put));
  return {};
}

Result<nlohmann::json> ServerLink::call(const std::string& method, const std::string& path) {
  return call(method, path, nullptr);
}

Result<nlohmann::json> ServerLink::call(const std::string& method, const std::string& path,
                                        const nlohmann::json& body) {
  HttpRequest call = request(method, path);
  const std::string text =
      body.is_null() ? "" : body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (!text.empty()) {
    call.headers.emplace_back("Content-Type", "application/json");
  }
  call.body = text;
  const auto response = KEDGE_TRY(exchange(call));
  if (response.body.empty()) {
    return nlohmann::json();
  }
  auto answer = nlohmann::json::parse(response.body, nullptr, false);
  if (answer.is_discarded()) {
    return fail(ErrorKind::Unavailable, fmt::format("{} gives no JSON", address_.url),
                "is that a kedge server?");
  }
  return answer;
}

Result<void> ServerLink::send_blob(const std::string& digest, const Path& file) {
  HttpRequest put = request("PUT", "/api/v1/blobs/" + digest);
  put.headers.emplace_back("Content-Type", "application/octet-stream");
  put.body_file = HttpBodyFile{.path = file};
  KEDGE_TRY(exchange(put));
  return {};
}

}  // namespace kedge::track
