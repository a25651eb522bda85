// One connection: reads requests, has them answered, writes the answers in their order. Everything
// of it happens on the thread of its IoThread, except what a handler does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/internal/stream.h"
#include "http/internal/workers.h"

namespace kedge::http {

class Connection;

// What all connections share.
struct Shared {
  const Router& router;
  Gate gate;
  ListenOptions options;
  Workers& workers;
  Workers& slow_gate;  // few threads: hashing passwords must not take the others' time
  std::atomic<bool> is_stopping = false;
  std::atomic<std::size_t> connection_count = 0;
  std::atomic<std::uint64_t> spool_number = 0;
};

// A thread with its event loop and connections.
struct IoThread {
  asio::io_context context{1};
  std::unordered_set<Connection*> connections = {};  // only its own thread touches them
  std::shared_ptr<void> turn = nullptr;              // ListenOptions::begin_turn

  void begin_turn(const ListenOptions& options);
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(Shared& shared, IoThread& thread, std::unique_ptr<Stream> stream, std::string peer);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() = default;

  Task<void> run();

  // Cut off when too slow, or gone; called every second or so.
  void check_deadline(Clock::time_point now);
  // Closes at once when no request has begun, else after the answer.
  void begin_stop();
  void close();

  void wake();  // on the connection's thread

  asio::io_context& context() { return thread_.context; }

 private:
  // A request that has been dispatched, and its answer when it is there.
  struct Slot {
    bool is_head = false;
    bool is_http_1_0 = false;
    bool is_last = false;  // the connection closes after it
    RefusalWriter refuse = nullptr;
    std::optional<Response> response = {};
    AccessLog::Entry access = {};  // where there is an access log
    Clock::time_point begun = Clock::now();
  };
  struct Head;  // request_head.h

  struct Routed {
    Request request;
    const Route* route = nullptr;
    RefusalWriter refuse = nullptr;
    std::vector<Method> allowed;  // where no route has the path and the method
    std::optional<Response> refusal;
  };

  // connection.cc: each false when the connection is over.
  Task<bool> serve_one();
  Task<bool> fill();
  Task<bool> read_head(Head& head);
  Result<Routed> route(const Head& head);
  Task<void> pass_gate(const Head& head, Routed& routed);
  // request_body.cc
  Task<bool> read_body(Head& head, Request& request, const RouteOptions& options);
  Task<bool> spool_body(Head& head, Request& request, std::uint64_t max_bytes);
  Task<bool> next_piece(Head& head, std::string& piece);
  // connection.cc
  Task<bool> dispatch(const Route& route, Request request, std::shared_ptr<Slot> slot);
  Task<bool> refuse(std::shared_ptr<Slot> slot, Response response);
  Task<bool> work(Workers& workers, std::function<void()> on_worker);
  Task<void> linger();
  std::function<void(Response)> answer_to(std::shared_ptr<Slot> slot);

  // response_writer.cc
  Task<bool> flush();
  Task<bool> write(std::string_view bytes);
  void note_access(Slot& slot);
  Task<bool> write_response(Slot& slot);
  Task<bool> write_file(const FileBody& body);
  Task<bool> write_pieces(const BodyProducer& producer, bool is_chunked);
  Task<bool> write_pushed(const PushStart& start, bool is_chunked);

  template <typename Condition>
  Task<void> wait_until(Condition is_met);
  void set_deadline(std::chrono::milliseconds from_now);
  void clear_deadline();

  // First, so that it is destroyed last: whoever waits for the count may then end the threads, and
  // the last owner of a connection may be an answer on a thread of its own.
  struct Counted {
    std::atomic<std::size_t>& count;

    explicit Counted(std::atomic<std::size_t>& connections) : count(connections) {}

    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    ~Counted() { --count; }
  };

  Counted counted_;
  Shared& shared_;
  IoThread& thread_;
  std::unique_ptr<Stream> stream_;
  std::string peer_;
  asio::steady_timer wake_;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool is_idle_ = true;
  bool is_closed_ = false;
  bool is_unread_ = false;          // a refused request's body is still coming
  std::size_t received_ = 0;        // since the deadline was set for a body
  std::size_t read_piece_ = 1024;   // small, until more comes at once: most connections are idle
  RefusalWriter refuse_ = nullptr;  // of the route whose request is being read
  std::shared_ptr<std::atomic<bool>> has_left_{};  // of a long request that is being answered
  std::string in_;                                 // received and not yet parsed, from in_begin_ on
  std::size_t in_begin_ = 0;
  std::string out_;                          // small answers that are written together
  std::deque<std::shared_ptr<Slot>> slots_;  // in the order of their requests
};

template <typename Condition>
Task<void> Connection::wait_until(Condition is_met) {
  while (!is_met()) {
    boost::system::error_code ignored;  // being woken is an error to a timer
    wake_.expires_at(Clock::time_point::max());
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace kedge::http
