#include "core/http_client.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/internal/curl.h"

namespace kedge {
namespace {

using internal::Curl;

// Queries and user names may hold secrets, and errors end up in logs.
std::string without_secrets(std::string_view url) {
  std::string text(url.substr(0, url.find_first_of("?#")));
  const auto scheme = text.find("://");
  const auto host = scheme == std::string::npos ? 0 : scheme + 3;
  const auto at = text.find('@', host);
  if (at != std::string::npos && at < text.find('/', host)) {
    text.erase(host, at + 1 - host);
  }
  return text;
}

// A proxy cannot reach this machine's own servers, and one named in the environment would be asked.
bool is_loopback(std::string_view url) {
  const auto scheme = url.find("://");
  std::string_view host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  return host.starts_with("127.") || host.starts_with("[::1]") || host.starts_with("localhost:") ||
         host.starts_with("localhost/") || host == "localhost";
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

bool has_header(const HttpHeaders& headers, std::string_view name) {
  return std::ranges::any_of(headers,
                             [&](const auto& header) { return lower(header.first) == name; });
}

}  // namespace

struct HttpClient::Handle {
  const Curl& curl;
  HttpClientOptions options;
  CURL* easy = nullptr;

  Handle(const Curl& functions, HttpClientOptions given)
      : curl(functions), options(std::move(given)), easy(functions.easy_init()) {}

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  ~Handle() {
    if (easy != nullptr) {
      curl.easy_cleanup(easy);
    }
  }
};

namespace {

// One send(): what libcurl's callbacks need while it runs.
class Exchange {
 public:
  Exchange(const Curl& curl, CURL* easy, const HttpRequest& request)
      : curl_(curl), easy_(easy), request_(request) {}

  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  ~Exchange() { curl_.slist_free_all(headers_); }

  Result<HttpResponse> run(const HttpClientOptions& options) {
    set_connection(options);
    KEDGE_TRY(set_body());
    set_headers();
    set_callbacks();
    const CURLcode code = curl_.easy_perform(easy_);
    if (failure_) {
      return std::unexpected(std::move(*failure_));
    }
    if (code != CURLE_OK) {
      return std::unexpected(error_of(code));
    }
    long status = 0;
    curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    return std::move(response_);
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_.easy_setopt(easy_, option, value);
  }

  void set_connection(const HttpClientOptions& options) {
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_NOSIGNAL,
        1L);  // its default for timeouts is SIGALRM, which other threads would get
    set(CURLOPT_USERAGENT, options.user_agent.c_str());
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.stall_timeout.count()));
    set(CURLOPT_FOLLOWLOCATION, request_.follow_redirects ? 1L : 0L);
    if (options.ca_file) {
      set(CURLOPT_CAINFO, options.ca_file->c_str());
    }
    if (is_loopback(request_.url)) {
      set(CURLOPT_NOPROXY, "*");
    }
    if (request_.aws) {
      const AwsSigning& aws = *request_.aws;
      set(CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:{}", aws.region, aws.service).c_str());
      set(CURLOPT_USERNAME, aws.access_key.c_str());
      set(CURLOPT_PASSWORD, aws.secret_key.c_str());
    }
  }

  Result<void> set_body() {
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    if (request_.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
      return {};
    }
    if (request_.body_file) {
      KEDGE_TRY(open_file(*request_.body_file));
    } else if (request_.body_source) {
      body_size_ = request_.body_source->size;
    } else {
      body_size_ = request_.body.size();
      const bool is_silent = request_.body.empty() && request_.method != "POST" &&
                             request_.method != "PUT" && request_.method != "PATCH";
      if (!is_silent) {
        // As POSTFIELDS libcurl signs and rewinds it by itself.
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
        set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : request_.body.data());
      }
      return {};
    }
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &Exchange::on_read);
    set(CURLOPT_READDATA, this);
    set(CURLOPT_SEEKFUNCTION, &Exchange::on_seek);
    set(CURLOPT_SEEKDATA, this);
    if (body_size_) {
      set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(*body_size_));
    }
    return {};
  }

  Result<void> open_file(const HttpBodyFile& file) {
    file_ = OwnedFd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file_.get() < 0) {
      return std::unexpected(io_error("cannot open", file.path, errno));
    }
    const std::uint64_t whole = KEDGE_TRY(size_of_file(file.path));
    const std::uint64_t rest = whole - std::min(whole, file.offset);
    if (file.size && *file.size > rest) {
      return fail(ErrorKind::Io, fmt::format("{} has {} bytes after {}, and {} were to be sent",
                                             file.path.string(), rest, file.offset, *file.size));
    }
    body_size_ = file.size.value_or(rest);
    file_path_ = file.path;
    file_offset_ = file.offset;
    return {};
  }

  void add_header(const std::string& line) {
    headers_ = curl_.slist_append(headers_, line.c_str());
  }

  void set_headers() {
    for (const auto& [name, value] : request_.headers) {
      // libcurl drops a header that ends in a colon, and takes a semicolon for "empty".
      add_header(value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
    }
    if (request_.aws) {
      if (!has_header(request_.headers, "x-amz-content-sha256")) {
        add_header("x-amz-content-sha256: " + body_hash());
      }
      if (!request_.aws->session_token.empty()) {
        add_header("x-amz-security-token: " + request_.aws->session_token);
      }
    }
    if (!has_header(request_.headers, "content-type")) {
      add_header("Content-Type:");  // libcurl would say it is a form
    }
    // Waiting for "100 Continue" costs a second with servers that do not know it.
    if (!has_header(request_.headers, "expect")) {
      add_header("Expect:");
    }
    set(CURLOPT_HTTPHEADER, headers_);
  }

  std::string body_hash() const {
    if (request_.body_file || request_.body_source) {
      return "UNSIGNED-PAYLOAD";
    }
    Sha256 hash;
    hash.add(as_bytes(request_.body));
    return hash.finish_hex();
  }

  void set_callbacks() {
    set(CURLOPT_WRITEFUNCTION, &Exchange::on_write);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Exchange::on_header);
    set(CURLOPT_HEADERDATA, this);
    if (request_.should_stop) {
      set(CURLOPT_NOPROGRESS, 0L);
      set(CURLOPT_XFERINFOFUNCTION, &Exchange::on_progress);
      set(CURLOPT_XFERINFODATA, this);
    }
  }

  Result<std::size_t> read_body(char* buffer, std::size_t size) {
    const std::uint64_t left = body_size_ ? *body_size_ - read_offset_ : size;
    const std::size_t wanted = std::min<std::uint64_t>(size, left);
    if (request_.body_source) {
      return wanted == 0 ? 0 : request_.body_source->read(read_offset_, buffer, wanted);
    }
    const ssize_t count =
        ::pread(file_.get(), buffer, wanted, static_cast<off_t>(file_offset_ + read_offset_));
    if (count < 0 || (count == 0 && wanted > 0)) {
      return count < 0 ? std::unexpected(io_error("cannot read", file_path_, errno))
                       : fail(ErrorKind::Io, fmt::format("{} became shorter while it was sent",
                                                         file_path_.string()));
    }
    return static_cast<std::size_t>(count);
  }

  static std::size_t on_read(char* buffer, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    auto given = exchange.read_body(buffer, size * count);
    if (!given) {
      exchange.failure_ = std::move(given).error();
      return CURL_READFUNC_ABORT;
    }
    exchange.read_offset_ += *given;
    return *given;
  }

  static int on_seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) {
      return CURL_SEEKFUNC_CANTSEEK;
    }
    static_cast<Exchange*>(self)->read_offset_ = static_cast<std::uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
  }

  Result<void> take(std::string_view bytes) {
    long status = 0;
    curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    if (request_.on_body && status >= 200 && status < 300) {
      return request_.on_body(bytes);
    }
    if (response_.body.size() + bytes.size() > request_.max_response_bytes) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("the answer of {} is longer than {} bytes",
                              without_secrets(request_.url), request_.max_response_bytes));
    }
    response_.body += bytes;
    return {};
  }

  static std::size_t on_write(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    auto taken = exchange.take({bytes, size * count});
    if (!taken) {
      exchange.failure_ = std::move(taken).error();
      return 0;
    }
    return size * count;
  }

  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    std::string_view line(bytes, size * count);
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) {
      line.remove_suffix(1);
    }
    const auto colon = line.find(':');
    if (line.starts_with("HTTP/")) {
      exchange.response_.headers.clear();  // of a redirect, or of "100 Continue"
    } else if (colon != std::string_view::npos) {
      std::string_view value = line.substr(colon + 1);
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      exchange.response_.headers.emplace_back(lower(line.substr(0, colon)), value);
    }
    return size * count;
  }

  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto& exchange = *static_cast<Exchange*>(self);
    if (!exchange.request_.should_stop()) {
      return 0;
    }
    exchange.failure_ = Error{ErrorKind::Interrupted, "stopped while sending"};
    return 1;
  }

  Error error_of(CURLcode code) const {
    const std::string detail =
        message_[0] != '\0' ? std::string(message_.data()) : curl_.easy_strerror(code);
    Error error{ErrorKind::Unavailable,
                fmt::format("{} {}: {}", request_.method, without_secrets(request_.url), detail)};
    switch (code) {
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL:
        error.kind = ErrorKind::Usage;
        error.hint = "an address looks like http://host:port";
        break;
      case CURLE_COULDNT_CONNECT:
        error.hint = "is the server running, and is the port right?";
        break;
      case CURLE_COULDNT_RESOLVE_HOST:
        error.hint = "check the host's name, or use its address";
        break;
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        error.hint = "the server's certificate is not trusted: name the file of its authority";
        break;
      case CURLE_SSL_CONNECT_ERROR:
        error.hint = "does the server speak TLS on this port? try http:// if it does not";
        break;
      default:
        break;
    }
    return error;
  }

  const Curl& curl_;
  CURL* easy_;
  const HttpRequest& request_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> message_{};
  OwnedFd file_;
  Path file_path_;
  std::uint64_t file_offset_ = 0;
  std::optional<std::uint64_t> body_size_;
  std::uint64_t read_offset_ = 0;
  HttpResponse response_;
  std::optional<Error> failure_;
};

}  // namespace

std::optional<std::string_view> HttpResponse::header(std::string_view name) const {
  const auto found = std::find_if(headers.rbegin(), headers.rend(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.rend() ? std::nullopt : std::optional<std::string_view>(found->second);
}

Result<HttpClient> HttpClient::make(HttpClientOptions options) {
  const auto& curl = internal::shared_curl();
  if (!curl) {
    return std::unexpected(curl.error());
  }
  auto handle = std::make_unique<Handle>(*curl, std::move(options));
  if (handle->easy == nullptr) {
    return fail(ErrorKind::Unavailable, "libcurl has no memory for a client");
  }
  return HttpClient(std::move(handle));
}

HttpClient::HttpClient(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}

HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  handle_->curl.easy_reset(handle_->easy);  // keeps the connections
  return Exchange(handle_->curl, handle_->easy, request).run(handle_->options);
}

}  // namespace kedge
