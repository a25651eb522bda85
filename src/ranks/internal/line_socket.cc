#include "ranks/internal/line_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace kedge::ranks {
namespace {

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(
        ErrorKind::Unavailable,
        fmt::format("this machine does not know the host '{}': {}", host, ::gai_strerror(error)),
        "use its address, or a name that all machines know");
  }
  return Addresses(found, ::freeaddrinfo);
}

std::string render_address(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

// One try; a way that swallows packets must not hold us up for minutes.
OwnedFd try_connect(const addrinfo& address, std::chrono::milliseconds patience) {
  OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
    return {};
  }
  pollfd wait{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  int error = 0;
  socklen_t size = sizeof error;
  if (::poll(&wait, 1, static_cast<int>(patience.count())) != 1 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    errno = error != 0 ? error : ETIMEDOUT;
    return {};
  }
  return fd;
}

}  // namespace

LineSocket::LineSocket(OwnedFd fd) : fd_(std::move(fd)) {
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

Result<LineSocket> LineSocket::connect(const std::string& host, int port,
                                       std::chrono::milliseconds timeout) {
  constexpr auto kTry = std::chrono::milliseconds(3000);
  constexpr auto kPause = std::chrono::milliseconds(100);
  const auto deadline = Clock::now() + timeout;
  const Addresses addresses = KEDGE_TRY(resolve(host, port));
  for (;;) {
    OwnedFd fd = try_connect(*addresses, std::min(kTry, timeout));
    if (fd.get() >= 0) {
      return LineSocket(std::move(fd));
    }
    const int error = errno;
    if (Clock::now() > deadline) {
      return fail(ErrorKind::Unavailable,
                  fmt::format("cannot reach {}:{}: {}", host, port, std::strerror(error)),
                  error == ECONNREFUSED ? "nobody listens there: is the first machine running?"
                                        : "is the network up, and does no firewall stand between?");
    }
    std::this_thread::sleep_for(kPause);
  }
}

void LineSocket::send(const nlohmann::json& message) {
  if (!is_open()) {
    return;
  }
  const std::string text =
      message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // Messages are small against a socket's buffer; one that is full has a peer that is gone.
  const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) {
    close();
  }
}

std::vector<nlohmann::json> LineSocket::receive() {
  std::vector<nlohmann::json> messages;
  std::array<char, 16384> block{};
  while (is_open()) {
    const ssize_t count = ::recv(fd_.get(), block.data(), block.size(), 0);
    if (count > 0) {
      received_.append(block.data(), static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      close();
    }
    break;
  }
  for (std::size_t end = received_.find('\n'); end != std::string::npos;
       end = received_.find('\n')) {
    auto message = nlohmann::json::parse(received_.substr(0, end), nullptr, false);
    received_.erase(0, end + 1);
    if (!message.is_object()) {
      close();
      break;
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

std::string LineSocket::own_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return render_address(address);
}

std::string LineSocket::peer_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return render_address(address);
}

Result<OwnedFd> listen_on(int port) {
  OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  constexpr int kBacklog = 1024;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return fail(ErrorKind::Unavailable,
                fmt::format("cannot listen on port {}: {}", port, std::strerror(errno)),
                "another job may use it: choose another port in dist.endpoint");
  }
  return fd;
}

std::optional<LineSocket> accept_on(int fd) {
  OwnedFd connection(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
  if (connection.get() < 0) {
    return std::nullopt;
  }
  return LineSocket(std::move(connection));
}

bool is_this_machine(const std::string& host) {
  const auto addresses = resolve(host, 1);
  if (!addresses) {
    return false;
  }
  // Only an address of our own can be bound to.
  const OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = *reinterpret_cast<const sockaddr_in*>((*addresses)->ai_addr);
  address.sin_port = 0;
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace kedge::ranks
