#include "http/internal/connection.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "core/log.h"
#include "http/decompress.h"
#include "http/internal/compress.h"
#include "http/internal/request_head.h"

namespace kedge::http {
namespace {

constexpr std::size_t kReadPiece = 16U << 10U;
constexpr std::size_t kMaxPipelined = 64;
constexpr std::size_t kMaxQuickBytes = 128U << 10U;
constexpr std::size_t kMaxLinger = 64U << 20U;  // or two seconds, whichever ends first

std::optional<Method> parse_method(beast::http::verb verb) {
  switch (verb) {
    case beast::http::verb::get:
    case beast::http::verb::head:
      return Method::Get;
    case beast::http::verb::post:
      return Method::Post;
    case beast::http::verb::put:
      return Method::Put;
    case beast::http::verb::patch:
      return Method::Patch;
    case beast::http::verb::delete_:
      return Method::Delete;
    default:
      return std::nullopt;
  }
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

Response no_such_path(const std::vector<Method>& allowed, bool is_options,
                      const std::string& hint) {
  if (allowed.empty()) {
    return error_response(404, "there is nothing at this address", hint);
  }
  std::string allow = "OPTIONS";
  for (const Method method : allowed) {
    allow += fmt::format(", {}", name_of(method));
    allow += method == Method::Get ? ", HEAD" : "";
  }
  Response response = is_options ? Response{.status = 204}
                                 : error_response(405, fmt::format("use one of {}", allow));
  response.headers.add("Allow", allow);
  return response;
}

// Pages of this server may ask it for everything; `wandb verify` wants to hear so.
void allow_own_origin(Response& response, const Request& request) {
  const auto origin = request.headers.find("origin");
  const auto host = request.headers.find("host");
  if (origin && host &&
      *origin == fmt::format("http{}://{}", request.is_secure ? "s" : "", *host)) {
    response.headers.add("Access-Control-Allow-Origin", std::string(*origin));
  }
}

Response no_head(const boost::system::error_code& error, std::size_t max_bytes) {
  return error == beast::http::error::header_limit
             ? error_response(431, fmt::format("the head is longer than {} bytes", max_bytes))
             : error_response(400, fmt::format("not HTTP: {}", error.message()));
}

Response call(const Handler& handler, const Request& request) {
  try {
    auto response = handler(request);
    return response ? std::move(*response) : error_response(response.error());
  } catch (const std::exception& error) {
    warn("{} {}: {}", name_of(request.method), request.path, error.what());
    return error_response(500, fmt::format("the server made a mistake: {}", error.what()));
  } catch (...) {  // a handler's mistake must not end the server
    return error_response(500, "the server made a mistake");
  }
}

}  // namespace

// The end of the turn is queued behind what the other connections have to do now.
void IoThread::begin_turn(const ListenOptions& options) {
  if (turn == nullptr && options.begin_turn) {
    turn = options.begin_turn();
    asio::post(context, [this] { turn = nullptr; });
  }
}

Connection::Connection(Shared& shared, IoThread& thread, std::unique_ptr<Stream> stream,
                       std::string peer)
    : counted_(shared.connection_count),
      shared_(shared),
      thread_(thread),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      wake_(thread.context) {}

void Connection::wake() {
  wake_.cancel();
}

void Connection::close() {
  is_closed_ = true;
  if (has_left_ != nullptr) {
    *has_left_ = true;
  }
  stream_->close();
  wake();
}

void Connection::begin_stop() {
  if (is_idle_) {
    close();
  } else {
    wake();
  }
}

void Connection::check_deadline(Clock::time_point now) {
  if (now > deadline_ || (has_left_ != nullptr && stream_->has_left())) {
    close();
  }
}

void Connection::set_deadline(std::chrono::milliseconds from_now) {
  deadline_ = Clock::now() + from_now;
}

void Connection::clear_deadline() {
  deadline_ = Clock::time_point::max();
}

Task<void> Connection::run() {
  const auto self = shared_from_this();  // the coroutine owns its connection

  struct Listed {
    IoThread& thread;
    Connection* connection;

    ~Listed() { thread.connections.erase(connection); }
  };

  thread_.connections.insert(this);
  const Listed listed{thread_, this};
  set_deadline(shared_.options.slow_timeout);
  bool is_open = co_await stream_->handshake();
  while (is_open && !is_closed_) {
    is_open = co_await serve_one();
  }
  if (is_unread_ && !is_closed_) {
    co_await linger();
  }
  close();
}

// A socket closed with unread bytes is reset, and the client loses the answer that is on its way.
Task<void> Connection::linger() {
  set_deadline(std::chrono::seconds(2));
  co_await stream_->end_writing();
  std::array<char, kReadPiece> scrap{};
  std::size_t total = 0;
  std::size_t count = 1;
  while (count > 0 && total < kMaxLinger && !is_closed_) {
    count = co_await stream_->read_some(scrap.data(), scrap.size());
    total += count;
  }
}

Task<bool> Connection::fill() {
  // Nothing is waited for while answers wait: the client may wait for them.
  const bool is_open = co_await flush();
  if (!is_open) {
    co_return false;
  }
  if (in_begin_ == in_.size()) {
    in_.clear();
    in_begin_ = 0;
  } else if (in_begin_ > kReadPiece) {
    in_.erase(0, in_begin_);
    in_begin_ = 0;
  }
  const std::size_t before = in_.size();
  in_.resize(before + read_piece_);
  const std::size_t count = co_await stream_->read_some(in_.data() + before, read_piece_);
  in_.resize(before + count);
  received_ += count;
  if (count == read_piece_) {
    read_piece_ = kReadPiece;
  }
  co_return count > 0 && !is_closed_;
}

Task<bool> Connection::read_head(Head& head) {
  while (true) {
    if (in_begin_ < in_.size()) {
      boost::system::error_code error;
      in_begin_ +=
          head.parser.put(asio::buffer(in_.data() + in_begin_, in_.size() - in_begin_), error);
      if (head.parser.is_header_done()) {
        co_return true;
      }
      if (error && error != beast::http::error::need_more) {
        refuse_ = shared_.router.unknown().refuse;
        co_return co_await refuse(std::make_shared<Slot>(),
                                  no_head(error, shared_.options.max_head_bytes));
      }
    }
    const bool is_between = in_begin_ == in_.size();
    if (is_between) {
      const bool is_open = co_await flush();
      if (!is_open || shared_.is_stopping) {
        co_return false;
      }
      set_deadline(shared_.options.idle_timeout);
    } else if (deadline_ == Clock::time_point::max()) {  // the head began behind another request
      set_deadline(shared_.options.slow_timeout);
    }
    is_idle_ = is_between;  // not before: while answers wait, it is not
    const bool is_filled = co_await fill();
    if (!is_filled) {
      co_return false;
    }
    if (is_idle_) {
      set_deadline(shared_.options.slow_timeout);
    }
    is_idle_ = false;
  }
}

std::function<void(Response)> Connection::answer_to(std::shared_ptr<Slot> slot) {
  return [self = shared_from_this(), slot = std::move(slot)](Response response) {
    // std::function wants what it holds to be copyable.
    auto kept = std::make_shared<Response>(std::move(response));
    asio::dispatch(self->context(), [self, slot, kept] {
      slot->response = std::move(*kept);
      self->wake();
    });
  };
}

// Answers without reading the body: then the connection cannot go on.
Task<bool> Connection::refuse(std::shared_ptr<Slot> slot, Response response) {
  is_unread_ = true;
  slot->is_last = true;
  slot->refuse = refuse_;
  slot->response = std::move(response);
  slots_.push_back(std::move(slot));
  co_return co_await flush();
}

// Runs something on a worker and waits for it. False: it did not run.
Task<bool> Connection::work(Workers& workers, std::function<void()> on_worker) {
  auto is_done = std::make_shared<bool>(false);
  const bool is_accepted =
      workers.submit([self = shared_from_this(), is_done, on_worker = std::move(on_worker)] {
        on_worker();
        asio::post(self->context(), [self, is_done] {
          *is_done = true;
          self->wake();
        });
      });
  if (!is_accepted) {
    co_return false;
  }
  // Also when the connection is closed meanwhile: the work uses what is on this coroutine's stack.
  co_await wait_until([&] { return *is_done; });
  co_return true;
}

Result<Connection::Routed> Connection::route(const Head& head) {
  const auto& message = head.parser.get();
  Target target = KEDGE_TRY(parse_target({message.target().data(), message.target().size()}));
  Routed routed;
  const auto method = parse_method(message.method());
  const bool is_options = message.method() == beast::http::verb::options;
  Request& request = routed.request;
  request.method = method.value_or(Method::Get);
  request.is_head = message.method() == beast::http::verb::head;
  request.path = target.path();
  request.query = std::move(target.query);
  request.peer = peer_;
  request.is_secure = shared_.options.tls.has_value();
  for (const auto& field : message) {
    request.headers.add(to_lower({field.name_string().data(), field.name_string().size()}),
                        {field.value().data(), field.value().size()});
  }
  RouteMatch match = shared_.router.find(request.method, target.segments);
  request.parameters = std::move(match.parameters);
  routed.allowed = method ? std::move(match.allowed) : shared_.router.methods_of(target.segments);
  if (!method) {
    routed.refusal = is_options ? no_such_path(routed.allowed, true, shared_.router.unknown().hint)
                                : error_response(501, "this method is not known");
    allow_own_origin(*routed.refusal, request);
    return routed;
  }
  const bool is_page = match.route == nullptr && routed.allowed.empty() &&
                       request.method == Method::Get && shared_.router.fallback() != nullptr;
  routed.route = is_page ? shared_.router.fallback() : match.route;
  routed.refuse = routed.route == nullptr ? match.refuse : routed.route->options.refuse;
  return routed;
}

// Who may not, what is not there, what is too long: in this order, so that nobody learns what is
// not theirs to know.
Task<void> Connection::pass_gate(const Head& head, Routed& routed) {
  const Gate& gate = shared_.gate;
  if (gate.is_slow && gate.is_slow(routed.request, routed.route)) {
    clear_deadline();  // now it is not the client who is slow
    const bool has_run = co_await work(
        shared_.slow_gate, [&] { routed.refusal = gate.check(routed.request, routed.route); });
    set_deadline(shared_.options.slow_timeout);
    if (!has_run) {
      routed.refusal = error_response(503, "too many log in at once", "try again in a moment");
    }
  } else if (gate.check) {
    routed.refusal = gate.check(routed.request, routed.route);
  }
  if (!routed.refusal && routed.route == nullptr) {
    routed.refusal = no_such_path(routed.allowed, false, shared_.router.unknown().hint);
  }
  const std::uint64_t length = head.parser.content_length().value_or(0);
  if (!routed.refusal && length > routed.route->options.max_body_bytes) {
    routed.refusal =
        error_response(413, fmt::format("the body has {} bytes, and {} are allowed here", length,
                                        routed.route->options.max_body_bytes));
  }
}

Task<bool> Connection::serve_one() {
  Head head(shared_.options.max_head_bytes);
  const bool has_head = co_await read_head(head);
  if (!has_head) {
    co_return false;
  }
  auto slot = std::make_shared<Slot>();
  slot->is_head = head.parser.get().method() == beast::http::verb::head;
  slot->is_http_1_0 = head.parser.get().version() < 11;
  slot->is_last = !head.parser.get().keep_alive();
  if (shared_.options.access_log != nullptr) {
    slot->access.method = std::string(head.parser.get().method_string());
  }
  refuse_ = shared_.router.unknown().refuse;
  auto routed = route(head);
  if (!routed) {
    co_return co_await refuse(std::move(slot), error_response(routed.error()));
  }
  refuse_ = routed->refuse;
  slot->refuse = refuse_;
  if (!routed->refusal) {
    co_await pass_gate(head, *routed);
  }
  if (shared_.options.access_log != nullptr) {
    slot->access.user = routed->request.caller.name;
    slot->access.path = loggable_path(routed->request);
  }
  if (routed->refusal && !head.parser.is_done()) {
    co_return co_await refuse(std::move(slot), std::move(*routed->refusal));
  }
  if (routed->refusal) {
    slot->response = std::move(*routed->refusal);
    slots_.push_back(std::move(slot));
    co_return true;
  }
  if (!head.parser.is_done()) {
    const bool is_read = co_await read_body(head, routed->request, routed->route->options);
    if (!is_read) {
      co_return false;
    }
  }
  co_return co_await dispatch(*routed->route, std::move(routed->request), std::move(slot));
}

Task<bool> Connection::dispatch(const Route& route, Request request, std::shared_ptr<Slot> slot) {
  has_left_ = route.options.is_long ? std::make_shared<std::atomic<bool>>(false) : nullptr;
  request.has_left = has_left_;
  const std::string encoding(request.headers.find("content-encoding").value_or(""));
  const bool is_small = encoding.empty() && request.body.size() <= kMaxQuickBytes;
  if (route.quick && (is_small || !route.handler)) {
    auto body = decompress(std::move(request.body), encoding, route.options.max_body_bytes);
    slots_.push_back(slot);
    if (auto* refusal = std::get_if<Response>(&body)) {
      slot->response = std::move(*refusal);
    } else {
      request.body = std::move(std::get<std::string>(body));
      thread_.begin_turn(shared_.options);
      route.quick(std::move(request), answer_to(slot));
    }
    if (slots_.size() < kMaxPipelined && !slot->is_last) {
      co_return true;
    }
    co_return co_await flush();
  }
  // Requests after one another may depend on each other, so these do not overlap.
  const bool is_flushed = co_await flush();
  if (!is_flushed) {
    co_return false;
  }
  slots_.push_back(slot);
  auto kept = std::make_shared<Request>(std::move(request));
  const bool is_accepted =
      shared_.workers.submit([&route, kept, encoding, answer = answer_to(slot)] {
        const std::uint64_t limit = route.options.max_body_bytes;
        auto body = route.options.is_spooled ? std::variant<std::string, Response>(std::string())
                                             : decompress(std::move(kept->body), encoding, limit);
        if (auto* refusal = std::get_if<Response>(&body)) {
          answer(std::move(*refusal));
          return;
        }
        kept->body = std::move(std::get<std::string>(body));
        Response response = call(route.handler, *kept);
        if (route.options.is_compressed) {
          compress(response, kept->headers.find("accept-encoding").value_or(""));
        }
        answer(std::move(response));
      });
  if (!is_accepted) {
    slot->response = error_response(503, "the server is too busy", "try again in a moment");
  }
  co_return co_await flush();
}

}  // namespace kedge::http
