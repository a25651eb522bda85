#include <cerrno>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "http/internal/stream.h"

namespace kedge::http {
namespace {

// NOLINTBEGIN(bugprone-unused-return-value): what asio returns is also in the argument

class PlainStream : public Stream {
 public:
  explicit PlainStream(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {
    boost::system::error_code ignored;  // a connection that is gone says so when it is read
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  Task<bool> handshake() override { co_return true; }

  Task<std::size_t> read_some(char* buffer, std::size_t size) override {
    boost::system::error_code error;
    const std::size_t count = co_await socket_.async_read_some(
        asio::buffer(buffer, size), asio::redirect_error(asio::use_awaitable, error));
    co_return error ? 0 : count;
  }

  Task<bool> write(std::string_view bytes) override {
    // Nearly always all fits into the socket's buffer, and then nobody has to wait.
    boost::system::error_code error;
    const std::size_t count = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
    if (!error) {
      bytes.remove_prefix(count);
    } else if (error != asio::error::would_block && error != asio::error::try_again) {
      co_return false;
    }
    if (bytes.empty()) {
      co_return true;
    }
    error = {};
    co_await asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  Task<void> end_writing() override {
    boost::system::error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    co_return;
  }

  bool has_left() override {
    char byte = 0;
    const auto count = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  asio::ip::tcp::socket socket_;
};

// NOLINTEND(bugprone-unused-return-value)

}  // namespace

std::unique_ptr<Stream> make_plain_stream(asio::ip::tcp::socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace kedge::http
