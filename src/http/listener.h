// The sockets of the HTTP server: connections are coroutines on a few threads, so that thousands of
// idle ones cost little; handlers run on workers. This header has no sockets in it, because those
// of Boost cost seconds a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "http/access_log.h"
#include "http/http.h"

namespace kedge::http {

struct TlsFiles {
  Path certificate;  // PEM, with its chain
  Path key;
};

struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: a free one
  int io_threads = 2;
  int worker_threads = 0;  // 0: two for each core, at least 4
  std::size_t max_connections = 10'000;
  std::size_t max_head_bytes = 32U << 10U;
  // A client must send its head, and each 64 KiB of its body, within this time, and take each
  // 64 KiB of an answer: who is slower is cut off.
  std::chrono::milliseconds slow_timeout = std::chrono::seconds(30);
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(300);
  Path spool_folder = {};  // for bodies of spooled routes; must be there when a route is spooled
  std::uint64_t reserve_bytes = 0;  // that stay free on that folder's disk
  std::optional<TlsFiles> tls = {};
  AccessLog* access_log = nullptr;  // lives longer than the listener
  // Called before the first of the requests that a thread has read at once, if they are answered on
  // it; what it returns is destroyed after the last: what they began is then done together.
  std::function<std::shared_ptr<void>()> begin_turn = nullptr;
  // Called with the address before the first connection is taken: what clients need to get in can
  // be in its place before any of them is answered.
  std::function<void(const std::string& address)> on_address = nullptr;
};

// Looks at a request before its body is read.
struct Gate {
  // Fills in the caller, or answers at once (401, 429). `route` is null where no route has the
  // path. Runs on the connection's thread and must not wait, unless is_slow() says so.
  std::function<std::optional<Response>(Request& request, const Route* route)> check = {};
  // Whether check() must hash a password: then it runs on a thread kept for that.
  std::function<bool(const Request& request, const Route* route)> is_slow = {};
};

// Whether an address is this machine's own, and nobody else's: "127.0.0.1", "localhost", "::1".
bool is_loopback(std::string_view host);

class Listener {
 public:
  // Listens when it returns. Unavailable when the port is taken, with a hint.
  static Result<std::unique_ptr<Listener>> start(const Router& router, Gate gate,
                                                 const ListenOptions& options);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();  // stops

  int port() const;
  std::string address() const;  // "http://127.0.0.1:8080"
  std::size_t connection_count() const;

  // Reads the certificate and its key again; connections that are open keep theirs. An error, and
  // the old ones stay, when they are not sound.
  Result<void> reload_tls();

  // Takes no more connections, answers the requests that have begun, closes; what takes longer than
  // `grace` is cut off.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(10));

 private:
  struct State;
  explicit Listener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kedge::http
