// Requests to HTTP servers by libcurl, which is opened when the first client is made, so that kedge
// itself needs no such library. A status of 404 or 503 is an answer and no Error; an Error is when
// there was no whole answer. Retrying is the caller's: only it knows what may be sent twice.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// AWS Signature Version 4, as S3 asks for it. libcurl signs; the client adds x-amz-content-sha256
// (the hash of a body in memory, else UNSIGNED-PAYLOAD) where the request does not bring it, and
// x-amz-security-token for a session token. libcurl 7.88 signs the query as it stands: it must be
// sorted, percent-encoded, and "uploads=" rather than "uploads".
struct AwsSigning {
  std::string region = "us-east-1";
  std::string service = "s3";
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};  // may be empty
};

// A part of a file as a body.
struct HttpBodyFile {
  Path path;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size = {};  // up to the file's end
};

// A body from elsewhere. `read` fills the buffer from `offset` on and returns how many bytes it
// gave, 0 at the end. It may be called again from 0: a kept connection that the server closed is
// opened anew. Without a size the body is sent in chunks.
struct HttpBodySource {
  std::function<Result<std::size_t>(std::uint64_t offset, char* buffer, std::size_t size)> read;
  std::optional<std::uint64_t> size = {};
};

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HttpHeaders headers = {};
  // At most one of the three. The view must live until send() returns.
  std::string_view body = {};
  std::optional<HttpBodyFile> body_file = {};
  std::optional<HttpBodySource> body_source = {};

  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  // The whole exchange; zero: no limit, and then only a stall ends it.
  std::chrono::milliseconds timeout = std::chrono::seconds(0);
  // Without a byte in either direction for this long (in whole seconds), it is given up.
  std::chrono::seconds stall_timeout = std::chrono::seconds(60);

  // A longer answer is an error. It does not hold for `on_body`.
  std::uint64_t max_response_bytes = 64ULL << 20U;
  // Takes the body of an answer 200..299 as it comes; `body` of the response then stays empty. Its
  // error ends the exchange and is what send() returns.
  std::function<Result<void>(std::string_view bytes)> on_body = {};
  bool follow_redirects = false;
  std::optional<AwsSigning> aws = {};
  // Asked about once a second; true ends the exchange with ErrorKind::Interrupted.
  std::function<bool()> should_stop = {};
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;

  bool is_ok() const { return status >= 200 && status < 300; }

  // The header's value (the last one's, when repeated), or nothing. `name` in lower case.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct HttpClientOptions {
  // Certificates to trust instead of the system's, for servers with one of their own.
  std::optional<Path> ca_file = {};
  std::string user_agent = "kedge";
};

// Keeps connections open between requests. One request at a time: threads have a client each.
class HttpClient {
 public:
  // Unavailable, with what to install, where libcurl.so.4 is not there.
  static Result<HttpClient> make(HttpClientOptions options = {});

  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Errors: Unavailable (not resolved, refused, timed out, TLS, cut off), Usage (the URL),
  // Io (the body's file), Corrupt (too long an answer), or what `on_body` or the source returned.
  Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct Handle;
  explicit HttpClient(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
};

}  // namespace kedge
