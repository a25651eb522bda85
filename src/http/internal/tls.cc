#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>

#include "http/internal/stream.h"

namespace kedge::http {
namespace {

// NOLINTBEGIN(bugprone-unused-return-value): what asio returns is also in the argument

class TlsStream : public Stream {
 public:
  TlsStream(asio::ip::tcp::socket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context) {
    boost::system::error_code ignored;  // a connection that is gone says so when it is read
    stream_.next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  Task<bool> handshake() override {
    boost::system::error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server,
                                     asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  Task<std::size_t> read_some(char* buffer, std::size_t size) override {
    boost::system::error_code error;
    const std::size_t count = co_await stream_.async_read_some(
        asio::buffer(buffer, size), asio::redirect_error(asio::use_awaitable, error));
    co_return error ? 0 : count;
  }

  Task<bool> write(std::string_view bytes) override {
    boost::system::error_code error;
    co_await asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  Task<void> end_writing() override {
    boost::system::error_code ignored;  // clients rarely wait to say goodbye
    co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
    stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }

  // What closes a TLS connection comes as bytes, like any other.
  bool has_left() override { return false; }

  void close() override {
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

class OpensslContext : public TlsContext {
 public:
  OpensslContext() : context_(asio::ssl::context::tls_server) {
    ::SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION);
  }

  Result<void> load(const TlsFiles& files) {
    boost::system::error_code error;
    context_.use_certificate_chain_file(files.certificate.string(), error);
    if (error) {
      return fail(ErrorKind::Usage,
                  fmt::format("cannot use the certificate {}: {}", files.certificate.string(),
                              error.message()),
                  "--tls-cert is a PEM file: the certificate, then those that signed it");
    }
    context_.use_private_key_file(files.key.string(), asio::ssl::context::pem, error);
    if (error) {
      return fail(ErrorKind::Usage,
                  fmt::format("cannot use the key {}: {}", files.key.string(), error.message()),
                  "--tls-key is the PEM file of the certificate's private key");
    }
    if (::SSL_CTX_check_private_key(context_.native_handle()) != 1) {
      return fail(ErrorKind::Usage, fmt::format("{} is not the key of {}", files.key.string(),
                                                files.certificate.string()));
    }
    return {};
  }

  std::unique_ptr<Stream> make_stream(asio::ip::tcp::socket socket) override {
    return std::make_unique<TlsStream>(std::move(socket), context_);
  }

 private:
  asio::ssl::context context_;
};

// NOLINTEND(bugprone-unused-return-value)

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::make(const TlsFiles& files) {
  auto context = std::make_unique<OpensslContext>();
  KEDGE_TRY(context->load(files));
  return context;
}

}  // namespace kedge::http
