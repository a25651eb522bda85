// Calls of a tracking server's API for the verbs that list, show and change what it has.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "cli/shared/arguments.h"
#include "core/http_client.h"
#include "core/result.h"
#include "track/server_link.h"

namespace kedge::cli {

inline constexpr Flag kServerFlag{"--server", "URL", "ask this tracking server ($KEDGE_SERVER)"};
inline constexpr Flag kTokenFlag{
    "--token-file", "FILE",
    "a file with a token for it; else $KEDGE_TOKEN, or your own server's key"};

// --server, else $KEDGE_SERVER; nothing: none was named.
std::optional<std::string> server_of(const Arguments& arguments);

class ServerCalls {
 public:
  // Of server_of(), with the token of --token-file or $KEDGE_TOKEN.
  static Result<ServerCalls> open(const std::string& url, const Arguments& arguments);

  // Path parts must be encoded: encode_url_part(). An answer other than 2xx is an error with the
  // server's own words. No body: null.
  Result<nlohmann::json> fetch(const std::string& path);
  Result<nlohmann::json> send(const std::string& method, const std::string& path,
                              const nlohmann::json& body);
  Result<void> send_file(const std::string& path, const Path& file);
  Result<void> fetch_file(const std::string& path,
                          const std::function<Result<void>(std::string_view bytes)>& on_body);

  const std::string& url() const { return address_.url; }

 private:
  ServerCalls(track::ServerAddress address, HttpClient client)
      : address_(std::move(address)), client_(std::move(client)) {}

  HttpRequest request(std::string method, const std::string& path) const;
  Result<HttpResponse> exchange(const HttpRequest& request);

  track::ServerAddress address_;
  HttpClient client_;
};

}  // namespace kedge::cli
