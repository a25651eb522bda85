// `kedge server`: the store, the API, the page and the sockets, put together.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "server/access.h"
#include "server/http.h"
#include "server/listener.h"

namespace kedge::server {

struct Api;

struct ServerOptions {
  Path data;                       // blobs, uploads in progress and, without --db, the database
  std::string db = {};             // postgres://...; empty: SQLite in `data`
  std::string blobs = {};          // a folder or s3://...; empty: `data`/blobs
  std::vector<Path> watched = {};  // folders of runs on a shared file system
  ListenOptions listen = {};
  Path access_log = {};  // a file for a line a request; empty: none
  AccessOptions access = {};
  std::string admin_password = {};  // of the first user, with --auth; empty: only a token is made
  // Other tools' languages: each adds its routes.
  std::vector<std::function<void(Router&, const Api&)>> dialects = {};
};

class Server {
 public:
  // Listens when it returns. With --auth and no users yet, makes the user "admin" and leaves its
  // token in DATA/admin-token, for its owner alone.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops

  std::string address() const;
  // The token's file, when start() made one.
  const std::optional<Path>& admin_token_file() const;

  // Goes on in a new access log where the old one was renamed, and with the certificate that is now
  // in its file. What fails is warned about, and stays as it was.
  void reload();

  // Answers what has begun, commits what was accepted.
  void stop();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kedge::server
