#include "http/listener.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "core/log.h"
#include "http/internal/connection.h"

namespace kedge::http {
namespace {

using asio::ip::tcp;

constexpr std::size_t kMaxWaitingRequests = 4096;
constexpr int kSlowGateThreads = 2;
constexpr std::size_t kMaxWaitingAtGate = 64;
constexpr auto kSweep = std::chrono::milliseconds(500);

// Every connection is a file; the usual soft limit of 1024 would be ours otherwise.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int worker_count(const ListenOptions& options) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return options.worker_threads > 0 ? options.worker_threads : std::max(4, 2 * cores);
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host.starts_with("127.") || host == "localhost" || host == "::1";
}

struct Listener::State {
  Workers workers;
  Workers slow_gate;
  Shared shared;
  std::mutex tls_mutex;
  std::shared_ptr<TlsContext> tls;  // connections being made have the one they began with
  std::vector<std::unique_ptr<IoThread>> io;
  std::vector<std::thread> threads;
  std::unique_ptr<tcp::acceptor> acceptor;
  std::size_t next_io = 0;
  int port = 0;
  bool is_stopped = false;

  State(const Router& router, Gate gate, const ListenOptions& options)
      : workers(worker_count(options), kMaxWaitingRequests),
        slow_gate(kSlowGateThreads, kMaxWaitingAtGate),
        shared{router, std::move(gate), options, workers, slow_gate} {}

  Result<void> listen();
  void run_threads();
  Task<void> accept();
  Task<void> sweep(IoThread& thread);
  void take(tcp::socket socket, IoThread& thread);
  void on_every_thread(const std::function<void(IoThread&)>& action);
};

// NOLINTBEGIN(bugprone-unused-return-value): what asio returns is also in the argument
Result<void> Listener::State::listen() {
  const ListenOptions& options = shared.options;
  boost::system::error_code error;
  tcp::resolver resolver(io.front()->context);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return fail(
        ErrorKind::Usage,
        fmt::format("'{}' is no address of this machine: {}", options.host, error.message()),
        "use 127.0.0.1 for this machine alone, 0.0.0.0 for the network");
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor = std::make_unique<tcp::acceptor>(io.front()->context);
  acceptor->open(endpoint.protocol(), error);
  if (!error) {
    acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    acceptor->bind(endpoint, error);
  }
  if (!error) {
    acceptor->listen(asio::socket_base::max_listen_connections, error);
  }
  if (error == asio::error::address_in_use) {
    return fail(
        ErrorKind::Unavailable,
        fmt::format("port {} of {} is taken by another program", options.port, options.host),
        "use another with --port, or --port 0 for any free one");
  }
  if (error) {
    return fail(ErrorKind::Unavailable, fmt::format("cannot listen on {} port {}: {}", options.host,
                                                    options.port, error.message()));
  }
  port = acceptor->local_endpoint().port();
  return {};
}

// NOLINTEND(bugprone-unused-return-value)

void Listener::State::take(tcp::socket socket, IoThread& thread) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) {
    --shared.connection_count;
    return;  // gone already
  }
  std::string peer = endpoint.address().to_string();
  std::shared_ptr<TlsContext> context;
  {
    const std::lock_guard lock(tls_mutex);
    context = tls;
  }
  auto stream =
      context ? context->make_stream(std::move(socket)) : make_plain_stream(std::move(socket));
  auto connection =
      std::make_shared<Connection>(shared, thread, std::move(stream), std::move(peer));
  asio::co_spawn(
      thread.context, [connection] { return connection->run(); },
      [connection](const std::exception_ptr& failure) {
        if (failure) {
          connection->close();
        }
      });
}

Task<void> Listener::State::accept() {
  while (acceptor->is_open()) {
    IoThread& thread = *io[next_io++ % io.size()];
    tcp::socket socket(thread.context);
    boost::system::error_code error;
    co_await acceptor->async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) {
      co_return;
    }
    if (error) {  // no files left, most likely: those that end will free some
      asio::steady_timer pause(io.front()->context, std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    if (++shared.connection_count > shared.options.max_connections) {
      --shared.connection_count;
      continue;  // closed: a client that is told more would keep its connection longer
    }
    auto moved = std::make_shared<tcp::socket>(std::move(socket));
    asio::post(thread.context, [this, moved, &thread] { take(std::move(*moved), thread); });
  }
}

Task<void> Listener::State::sweep(IoThread& thread) {
  asio::steady_timer timer(thread.context);
  while (true) {
    boost::system::error_code error;
    timer.expires_after(kSweep);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    const auto now = Connection::Clock::now();
    for (Connection* connection :
         std::vector(thread.connections.begin(), thread.connections.end())) {
      connection->check_deadline(now);
    }
  }
}

void Listener::State::run_threads() {
  for (const auto& thread : io) {
    asio::co_spawn(
        thread->context, [this, &thread = *thread] { return sweep(thread); }, asio::detached);
  }
  asio::co_spawn(io.front()->context, [this] { return accept(); }, asio::detached);
  for (const auto& thread : io) {
    threads.emplace_back([&context = thread->context] { context.run(); });
  }
}

void Listener::State::on_every_thread(const std::function<void(IoThread&)>& action) {
  for (const auto& thread : io) {
    asio::post(thread->context, [action, &thread = *thread] { action(thread); });
  }
}

Result<std::unique_ptr<Listener>> Listener::start(const Router& router, Gate gate,
                                                  const ListenOptions& options) {
  raise_file_limit();
  auto state = std::make_unique<State>(router, std::move(gate), options);
  if (options.tls) {
    state->tls = KEDGE_TRY(TlsContext::make(*options.tls));
  }
  for (int i = 0; i < std::max(1, options.io_threads); ++i) {
    state->io.push_back(std::make_unique<IoThread>());
  }
  KEDGE_TRY(state->listen());
  std::unique_ptr<Listener> listener(new Listener(std::move(state)));
  if (options.on_address) {
    options.on_address(listener->address());
  }
  listener->state_->run_threads();
  return listener;
}

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}

Listener::~Listener() {
  stop();
}

int Listener::port() const {
  return state_->port;
}

std::string Listener::address() const {
  const auto& options = state_->shared.options;
  const bool is_v6 = options.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options.tls ? "https" : "http", is_v6 ? "[" : "",
                     options.host, is_v6 ? "]" : "", state_->port);
}

std::size_t Listener::connection_count() const {
  return state_->shared.connection_count;
}

Result<void> Listener::reload_tls() {
  if (!state_->shared.options.tls) {
    return {};
  }
  std::shared_ptr<TlsContext> fresh = KEDGE_TRY(TlsContext::make(*state_->shared.options.tls));
  const std::lock_guard lock(state_->tls_mutex);
  state_->tls = std::move(fresh);
  return {};
}

void Listener::stop(std::chrono::milliseconds grace) {
  if (std::exchange(state_->is_stopped, true)) {
    return;
  }
  state_->shared.is_stopping = true;
  asio::post(state_->io.front()->context, [this] {
    boost::system::error_code ignored;
    state_->acceptor->close(ignored);  // NOLINT(bugprone-unused-return-value)
  });
  const auto each = [&](void (Connection::*action)()) {
    state_->on_every_thread([action](IoThread& thread) {
      for (Connection* connection :
           std::vector(thread.connections.begin(), thread.connections.end())) {
        (connection->*action)();
      }
    });
  };
  each(&Connection::begin_stop);
  const auto end = Connection::Clock::now() + grace;
  bool is_forced = false;
  // Connections end on their own threads and tell nobody; this is once in a server's life.
  while (state_->shared.connection_count > 0) {
    if (!is_forced && Connection::Clock::now() > end) {
      is_forced = true;
      each(&Connection::close);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const auto& thread : state_->io) {
    thread->context.stop();
  }
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

}  // namespace kedge::http
