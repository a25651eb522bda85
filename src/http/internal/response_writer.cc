#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "http/internal/connection.h"

namespace kedge::http {
namespace {

constexpr std::size_t kFilePiece = 512U << 10U;
constexpr std::size_t kWritePiece = 64U << 10U;
constexpr std::size_t kMaxWaiting = 1U << 20U;  // of a push stream, before it is dropped
constexpr auto kHeartbeat = std::chrono::seconds(15);

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";  // clients read the number
  }
}

// Made once a second: formatting it costs more than all the rest of a small answer.
const std::string& date_text() {
  thread_local std::time_t made = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    made = now;
    text = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
  }
  return text;
}

std::optional<std::string_view> find_body_text(const Response& response) {
  if (const auto* text = std::get_if<std::string>(&response.body)) {
    return *text;
  }
  const auto* view = std::get_if<std::string_view>(&response.body);
  return view != nullptr ? std::optional(*view) : std::nullopt;
}

std::optional<std::uint64_t> size_of_body(const Response& response) {
  if (const auto text = find_body_text(response)) {
    return text->size();
  }
  if (const auto* file = std::get_if<FileBody>(&response.body)) {
    return file->size;
  }
  return std::nullopt;
}

class QueuedPushes : public PushStream {
 public:
  explicit QueuedPushes(std::weak_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  bool push(std::shared_ptr<const std::string> text) override {
    const auto connection = connection_.lock();
    const std::scoped_lock lock(mutex_);
    if (is_closed_ || !connection) {
      return false;
    }
    waiting_bytes_ += text->size();
    if (waiting_bytes_ > kMaxWaiting) {
      is_closed_ = true;
      waiting_.clear();
    } else {
      waiting_.push_back(std::move(text));
    }
    tell(connection);
    return !is_closed_;
  }

  void finish() override {
    const auto connection = connection_.lock();
    const std::scoped_lock lock(mutex_);
    is_finished_ = true;
    tell(connection);
  }

  struct Taken {
    std::string text = {};     // what waited
    bool is_dropped = false;   // too much did
    bool is_finished = false;  // nothing follows
  };

  Taken take() {
    const std::scoped_lock lock(mutex_);
    is_told_ = false;
    waiting_bytes_ = 0;
    Taken taken{.is_dropped = is_closed_, .is_finished = is_finished_};
    for (const auto& piece : std::exchange(waiting_, {})) {
      taken.text += *piece;
    }
    return taken;
  }

  bool has_news() const {
    const std::scoped_lock lock(mutex_);
    return is_closed_ || is_finished_ || !waiting_.empty();
  }

  void close() {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }

 private:
  void tell(const std::shared_ptr<Connection>& connection) {
    if (connection != nullptr && !std::exchange(is_told_, true)) {
      asio::post(connection->context(), [connection] { connection->wake(); });
    }
  }

  std::weak_ptr<Connection> connection_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const std::string>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_told_ = false;
  bool is_closed_ = false;
  bool is_finished_ = false;
};

// The same refusal in another form. What it says besides the body (Retry-After, Allow) stays.
Response rewrite(const Response& response, RefusalWriter refuse) {
  Response other = refuse(response.status, *response.refusal);
  for (const auto& [name, value] : response.headers) {
    if (!other.headers.find(name)) {
      other.headers.add(name, value);
    }
  }
  return other;
}

}  // namespace

Task<bool> Connection::flush() {
  while (!slots_.empty()) {
    const std::shared_ptr<Slot> slot = slots_.front();
    if (!slot->response) {
      co_await wait_until([&] { return slot->response.has_value() || is_closed_; });
    }
    if (is_closed_) {
      co_return false;
    }
    slots_.pop_front();
    // What has been dispatched is answered, also when the server stops.
    slot->is_last = slot->is_last || (shared_.is_stopping && slots_.empty());
    const bool is_written = co_await write_response(*slot);
    note_access(*slot);
    if (!is_written) {
      co_return false;
    }
    if (slot->is_last) {
      slots_.clear();
      if (!out_.empty()) {
        co_await write({});
      }
      co_return false;
    }
  }
  if (out_.empty()) {
    co_return true;
  }
  const bool is_written = co_await write({});
  co_return is_written;
}

void Connection::note_access(Slot& slot) {
  if (shared_.options.access_log == nullptr || !slot.response) {
    return;
  }
  slot.access.peer = peer_;
  slot.access.status = slot.response->status;
  slot.access.bytes = size_of_body(*slot.response);
  slot.access.took =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - slot.begun);
  shared_.options.access_log->write(slot.access);
}

// Writes what has been gathered, then `bytes`.
Task<bool> Connection::write(std::string_view bytes) {
  bool is_open = true;
  if (!out_.empty()) {
    out_ += bytes.substr(0, std::min(bytes.size(), kWritePiece));
    bytes.remove_prefix(std::min(bytes.size(), kWritePiece));
    set_deadline(shared_.options.slow_timeout);
    is_open = co_await stream_->write(out_);
    out_.clear();
  }
  while (is_open && !bytes.empty()) {
    set_deadline(shared_.options.slow_timeout);
    is_open = co_await stream_->write(bytes.substr(0, kWritePiece));
    bytes.remove_prefix(std::min(bytes.size(), kWritePiece));
  }
  clear_deadline();
  co_return is_open && !is_closed_;
}

Task<bool> Connection::write_response(Slot& slot) {
  if (!slot.response) {
    co_return false;
  }
  if (slot.refuse != nullptr && slot.response->refusal) {
    slot.response = rewrite(*slot.response, slot.refuse);
  }
  Response& response = *slot.response;
  const auto size = size_of_body(response);
  const bool has_body = response.status != 204 && response.status != 304;
  const bool is_promised = response.headers.find("Content-Length").has_value();
  const bool is_chunked = !size && !is_promised && !slot.is_http_1_0;
  if (std::holds_alternative<PushStart>(response.body) || (!size && slot.is_http_1_0)) {
    slot.is_last = true;
  }
  auto out = std::back_inserter(out_);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, reason_of(response.status),
                 date_text());
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(out, "{}: {}\r\n", name, value);
  }
  if (size && has_body) {
    fmt::format_to(out, "Content-Length: {}\r\n", *size);
  } else if (is_chunked && has_body) {
    fmt::format_to(out, "Transfer-Encoding: chunked\r\n");
  }
  fmt::format_to(out, "X-Content-Type-Options: nosniff\r\n{}\r\n",
                 slot.is_last ? "Connection: close\r\n" : "");
  if (slot.is_head || !has_body) {
    co_return true;
  }
  bool is_written = true;
  if (const auto text = find_body_text(response)) {
    if (out_.size() + text->size() <= kWritePiece) {
      out_ += *text;
    } else {
      is_written = co_await write(*text);
    }
  } else if (const auto* file = std::get_if<FileBody>(&response.body)) {
    is_written = co_await write_file(*file);
  } else if (const auto* producer = std::get_if<BodyProducer>(&response.body)) {
    is_written = co_await write_pieces(*producer, is_chunked);
  } else {
    is_written = co_await write_pushed(std::get<PushStart>(response.body), is_chunked);
  }
  co_return is_written;
}

Task<bool> Connection::write_file(const FileBody& body) {
  std::uint64_t sent = 0;
  std::string piece;
  while (sent < body.size) {
    bool is_read = false;
    const bool is_run = co_await work(shared_.workers, [&] {
      piece.resize(std::min<std::uint64_t>(kFilePiece, body.size - sent));
      const ssize_t count = ::pread(body.file->get(), piece.data(), piece.size(),
                                    static_cast<off_t>(body.offset + sent));
      is_read = count > 0;
      piece.resize(is_read ? static_cast<std::size_t>(count) : 0);
    });
    if (!is_run || !is_read) {
      co_return false;  // the length was promised: only cutting it off tells the client
    }
    const bool is_written = co_await write(piece);
    if (!is_written) {
      co_return false;
    }
    sent += piece.size();
  }
  co_return true;
}

Task<bool> Connection::write_pieces(const BodyProducer& producer, bool is_chunked) {
  std::string piece;
  bool has_more = true;
  while (has_more) {
    piece.clear();
    bool is_made = false;
    const bool is_run = co_await work(shared_.workers, [&] {
      const auto made = producer(piece);
      is_made = made.has_value();
      has_more = is_made && *made;
    });
    if (!is_run || !is_made) {
      co_return false;
    }
    if (is_chunked && !piece.empty()) {
      piece.insert(0, fmt::format("{:x}\r\n", piece.size()));
      piece += "\r\n";
    }
    if (is_chunked && !has_more) {
      piece += "0\r\n\r\n";
    }
    const bool is_written = co_await write(piece);
    if (!is_written) {
      co_return false;
    }
  }
  co_return true;
}

Task<bool> Connection::write_pushed(const PushStart& start, bool is_chunked) {
  const auto stream = std::make_shared<QueuedPushes>(weak_from_this());
  const auto kept = start(stream);
  auto next_beat = Clock::now();
  bool is_open = true;
  while (is_open && !is_closed_) {
    auto [text, is_dropped, is_finished] = stream->take();
    if (is_dropped || (text.empty() && (is_finished || shared_.is_stopping))) {
      break;
    }
    if (text.empty() && Clock::now() >= next_beat) {
      text = ": alive\n\n";
    }
    if (!text.empty()) {
      next_beat = Clock::now() + kHeartbeat;
      if (is_chunked) {
        text = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
      }
      is_open = co_await write(text);
    }
    if (is_open && !stream->has_news() && !is_closed_ && !shared_.is_stopping) {
      boost::system::error_code ignored;
      wake_.expires_at(next_beat);
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
  stream->close();
  if (is_open && is_chunked && !is_closed_) {
    co_await write("0\r\n\r\n");
  }
  co_return false;
}

}  // namespace kedge::http
