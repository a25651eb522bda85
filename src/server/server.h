// `kedge server`: the store, the API, the page and the sockets, put together.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "http/http.h"
#include "http/listener.h"
#include "server/access.h"

namespace kedge::server {

struct Api;

// Who has to show what.
enum class Auth : std::uint8_t {
  Owner,  // everybody a key; whoever started the server finds theirs in a file
  Users,  // the same, and the first start makes the user "admin"
  None,   // nobody anything: whoever reaches the port may do everything
};

struct ServerOptions {
  Path data;                       // blobs, uploads in progress and, without --db, the database
  std::string db = {};             // postgres://...; empty: SQLite in `data`
  std::string blobs = {};          // a folder or s3://...; empty: `data`/blobs
  std::vector<Path> watched = {};  // folders of runs on a shared file system
  // Stay free on the disks of uploads and blobs; nothing: 5 % of the disk, at most 1 GiB.
  std::optional<std::uint64_t> disk_reserve = {};
  std::uint64_t project_quota = 0;  // bytes of files that one project may hold; 0: any
  http::ListenOptions listen = {};
  Path access_log = {};  // a file for a line a request; empty: none
  Auth auth = Auth::Owner;
  std::vector<std::string> hosts = {};  // AccessOptions::hosts
  double requests_per_second = 0;       // AccessOptions::requests_per_second
  std::int64_t trash_days = 30;         // how long deleted runs can be restored
  std::string admin_password = {};  // of the first user, with Users; empty: only a token is made
  // How long a run may give no sign of life until it counts as crashed, by its source where the
  // tool's clients have a time of their own; nothing: for ever.
  std::map<std::string, std::optional<std::int64_t>> silences_us = {};
  // Other tools' languages: each adds its routes.
  std::vector<std::function<void(http::Router&, const Api&)>> dialects = {};
};

class Server {
 public:
  // Listens when it returns. With Auth::Users and no users yet, makes the user "admin" and leaves
  // its token in DATA/admin-token. With Auth::Owner the key is in DATA/owner-key, the same at every
  // start, and in the owner's config folder while the server runs.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // stops

  std::string address() const;
  // The token's file, when start() made one.
  const std::optional<Path>& admin_token_file() const;
  // Where the owner's programs find their key, with Auth::Owner.
  const std::optional<Path>& owner_key_file() const;
  // An address that opens the page for the owner, once, within ten minutes; with Auth::Owner.
  std::string make_owner_link();

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
