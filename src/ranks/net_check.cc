#include "ranks/net_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/file.h"
#include "core/stopwatch.h"
#include "ranks/internal/line_socket.h"

namespace kedge::ranks {
namespace {

// A connection is 'P' for each ping, then 'B' and the number of bytes, then the bytes. Each 'P' is
// answered by 'p', the bytes by 'b'.
constexpr int kPings = 21;
constexpr std::size_t kBlock = std::size_t{1} << 20U;

class Connection {
 public:
  Connection(int fd, std::chrono::milliseconds timeout) : fd_(fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  bool send(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t sent = ::send(fd_, bytes, size, MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  bool receive(void* data, std::size_t size) {
    return ::recv(fd_, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }

 private:
  int fd_;
};

std::unexpected<Error> broken(const NetCheckOptions& options) {
  return fail(ErrorKind::Unavailable,
              fmt::format("the connection to {}:{} broke: {}", options.host, options.port,
                          std::strerror(errno)),
              "is it `kedge net listen` that answers there?");
}

// Whether the other end has said all it wanted.
bool answer(Connection& connection, std::vector<char>& block) {
  char word = 0;
  while (connection.receive(&word, 1)) {
    if (word == 'P') {
      if (!connection.send("p", 1)) {
        return false;
      }
      continue;
    }
    std::int64_t bytes = 0;
    if (word != 'B' || !connection.receive(&bytes, sizeof bytes)) {
      return false;
    }
    while (bytes > 0) {
      const auto size = static_cast<std::size_t>(std::min<std::int64_t>(bytes, kBlock));
      if (!connection.receive(block.data(), size)) {
        return false;
      }
      bytes -= static_cast<std::int64_t>(size);
    }
    return connection.send("b", 1);
  }
  return false;
}

}  // namespace

Result<NetReport> check_net(const NetCheckOptions& options) {
  const LineSocket socket =
      KEDGE_TRY(LineSocket::connect(options.host, options.port, options.timeout));
  Connection connection(socket.fd(), options.timeout);
  NetReport report{.own_address = socket.own_address()};
  std::array<double, kPings> times{};
  for (double& time : times) {
    const Stopwatch watch;
    char word = 0;
    if (!connection.send("P", 1) || !connection.receive(&word, 1) || word != 'p') {
      return broken(options);
    }
    time = watch.seconds();
  }
  std::ranges::nth_element(times, times.begin() + kPings / 2);
  report.round_trip_s = times[kPings / 2];
  const std::vector<char> block(kBlock, 'x');
  const Stopwatch watch;
  if (!connection.send("B", 1) || !connection.send(&options.bytes, sizeof options.bytes)) {
    return broken(options);
  }
  for (std::int64_t left = options.bytes; left > 0;) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(left, kBlock));
    if (!connection.send(block.data(), size)) {
      return broken(options);
    }
    left -= static_cast<std::int64_t>(size);
  }
  char word = 0;
  if (!connection.receive(&word, 1) || word != 'b') {
    return broken(options);
  }
  report.bytes_per_s = static_cast<double>(options.bytes) / watch.seconds();
  return report;
}

Result<void> answer_net_checks(int port, const std::function<bool()>& should_stop,
                               const std::function<void(const std::string& who)>& on_check) {
  const OwnedFd listener = KEDGE_TRY(listen_on(port));
  std::vector<char> block(kBlock);
  constexpr int kLook_ms = 100;
  while (!should_stop()) {
    pollfd wait{.fd = listener.get(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, kLook_ms) <= 0) {
      continue;
    }
    if (const auto socket = accept_on(listener.get())) {
      Connection connection(socket->fd(), std::chrono::seconds(5));
      const std::string who = socket->peer_address();
      if (answer(connection, block)) {
        on_check(who);
      }
    }
  }
  return {};
}

}  // namespace kedge::ranks
