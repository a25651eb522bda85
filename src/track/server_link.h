// A tracking server as a sender of runs sees it: the requests, and which of their failures pass.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/http_client.h"
#include "core/result.h"
#include "track/log_chain.h"
#include "track/run_facts.h"

namespace kedge::track {

struct ServerAddress {
  std::string url;              // "http://node1:8080"
  std::string token = {};       // empty: none is sent
  bool is_token_given = false;  // by the user; else a server that refuses may be one's own
};

// A URL without a scheme is http; the token is in the file, else in $KEDGE_TOKEN, else the owner's
// key where the server is one's own (track/owner_key.h). A token inside the URL is refused: it
// would be in every log.
Result<ServerAddress> find_server(const std::string& url, const Path& token_file);

// What the server has of a log.
struct ServerPosition {
  std::uint64_t next_seq = 0;
  std::string digest;  // as LogPosition::digest()
};

struct ServerFile {
  std::uint64_t size = 0;
  std::string digest;  // SHA-256 as 64 hex digits
};

// Errors: Unavailable when it may work later (the server is away, busy or full), Interrupted when
// `should_stop` said so, else what the server refused for good. One thread at a time.
class ServerLink {
 public:
  static Result<ServerLink> open(ServerAddress address, std::function<bool()> should_stop = {});

  const std::string& url() const { return address_.url; }

  bool has_answered() const { return has_answered_; }  // ever, if only to refuse

  Result<ServerPosition> fetch_position(const RunName& run, const std::string& writer);

  // `frames` as they stand in the file, beginning with record `from_seq`. Those that the server has
  // are passed over; where others are missing before them, the answer is below from_seq.
  Result<ServerPosition> send_frames(const RunName& run, const std::string& writer,
                                     std::uint64_t from_seq, std::string_view frames);

  // Also a sign of life of the run; an empty object is nothing else.
  Result<void> send_facts(const RunName& run, const nlohmann::json& facts);

  // The files the server has, by path. NotFound where it takes no files.
  Result<std::map<std::string, ServerFile>> fetch_files(const RunName& run);
  Result<void> send_file(const RunName& run, const std::string& path, const Path& file);

  // Any call of the API that takes and gives JSON; an empty answer is null.
  Result<nlohmann::json> call(const std::string& method, const std::string& path);
  Result<nlohmann::json> call(const std::string& method, const std::string& path,
                              const nlohmann::json& body);
  Result<void> send_blob(const std::string& digest, const Path& file);

 private:
  ServerLink(ServerAddress address, HttpClient client, std::function<bool()> should_stop)
      : address_(std::move(address)),
        client_(std::move(client)),
        should_stop_(std::move(should_stop)) {}

  HttpRequest request(std::string method, const std::string& path) const;
  Result<HttpResponse> exchange(const HttpRequest& request);
  bool find_other_key();

  ServerAddress address_;
  HttpClient client_;
  std::function<bool()> should_stop_;
  bool has_answered_ = false;
};

}  // namespace kedge::track
