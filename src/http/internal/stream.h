// The bytes of one connection, with or without TLS.
#pragma once

// Before asio: its coroutines use std::exchange without it.
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "core/result.h"
#include "http/listener.h"

// g++ 12 takes the pair of operators with which asio allocates coroutines for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace kedge::http {

namespace asio = boost::asio;

template <typename T>
using Task = asio::awaitable<T>;

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual Task<bool> handshake() = 0;
  // 0: the end, or an error; there is no more either way.
  virtual Task<std::size_t> read_some(char* buffer, std::size_t size) = 0;
  // False: the client is gone.
  virtual Task<bool> write(std::string_view bytes) = 0;
  // Says that no more will come; reading goes on.
  virtual Task<void> end_writing() = 0;
  // Whether the client has closed its end, as far as that can be seen without reading.
  virtual bool has_left() = 0;
  // Whoever waits for it, waits no longer.
  virtual void close() = 0;
};

std::unique_ptr<Stream> make_plain_stream(asio::ip::tcp::socket socket);

// What TLS connections share: the certificate. Their streams may outlive it. internal/tls.cc.
class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> make(const TlsFiles& files);
  TlsContext() = default;
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  virtual ~TlsContext() = default;
  virtual std::unique_ptr<Stream> make_stream(asio::ip::tcp::socket socket) = 0;
};

}  // namespace kedge::http
