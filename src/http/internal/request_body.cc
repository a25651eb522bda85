#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/disk_room.h"
#include "http/internal/request_head.h"

namespace kedge::http {
namespace {

constexpr std::size_t kBodyPiece = 64U << 10U;
constexpr std::size_t kSpoolPiece = 1U << 20U;

Response too_long(std::uint64_t max_bytes) {
  return error_response(413, fmt::format("{} bytes are allowed here", max_bytes));
}

}  // namespace

// Adds the next bytes of the body to `piece`; read until the parser is done.
Task<bool> Connection::next_piece(Head& head, std::string& piece) {
  auto& body = head.parser.get().body();
  while (true) {
    if (in_begin_ < in_.size()) {
      const std::size_t before = piece.size();
      piece.resize(before + kBodyPiece);
      body.data = piece.data() + before;
      body.size = kBodyPiece;
      body.more = true;
      boost::system::error_code error;
      in_begin_ +=
          head.parser.put(asio::buffer(in_.data() + in_begin_, in_.size() - in_begin_), error);
      piece.resize(before + kBodyPiece - body.size);
      if (error && error != beast::http::error::need_more &&
          error != beast::http::error::need_buffer) {
        auto slot = std::make_shared<Slot>();
        co_return co_await refuse(
            std::move(slot), error_response(400, fmt::format("bad body: {}", error.message())));
      }
      if (piece.size() > before || head.parser.is_done()) {
        co_return true;
      }
    }
    // Not for every byte: one that comes now and then would hold the connection for ever.
    if (received_ >= kBodyPiece || deadline_ == Clock::time_point::max()) {
      set_deadline(shared_.options.slow_timeout);
      received_ = 0;
    }
    const bool is_filled = co_await fill();
    if (!is_filled) {
      co_return false;
    }
  }
}

Task<bool> Connection::read_body(Head& head, Request& request, const RouteOptions& options) {
  head.parser.eager(true);
  set_deadline(shared_.options.slow_timeout);
  received_ = 0;
  if (options.is_spooled) {  // before anything comes, where the client says how much it will be
    const ListenOptions& listen = shared_.options;
    const auto room = check_room(listen.spool_folder, head.parser.content_length().value_or(0),
                                 listen.reserve_bytes);
    if (!room) {
      auto slot = std::make_shared<Slot>();
      co_return co_await refuse(std::move(slot), error_response(room.error()));
    }
  }
  if (const auto expect = request.headers.find("expect");
      expect && boost::beast::iequals({expect->data(), expect->size()}, "100-continue") &&
      in_begin_ == in_.size()) {
    const bool is_flushed = co_await flush();
    if (!is_flushed) {
      co_return false;
    }
    const bool is_written = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!is_written) {
      co_return false;
    }
  }
  if (options.is_spooled) {
    co_return co_await spool_body(head, request, options.max_body_bytes);
  }
  while (!head.parser.is_done()) {
    const bool is_read = co_await next_piece(head, request.body);
    if (!is_read) {
      co_return false;
    }
    if (request.body.size() > options.max_body_bytes) {
      auto slot = std::make_shared<Slot>();
      co_return co_await refuse(std::move(slot), too_long(options.max_body_bytes));
    }
  }
  clear_deadline();
  co_return true;
}

Task<bool> Connection::spool_body(Head& head, Request& request, std::uint64_t max_bytes) {
  const Path path =
      shared_.options.spool_folder / fmt::format("{}-{}.part", ::getpid(), ++shared_.spool_number);
  request.body_file = std::shared_ptr<const Path>(new Path(path), [](const Path* gone) {
    ::unlink(gone->c_str());
    delete gone;
  });
  OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  std::optional<Error> failure;
  if (file.get() < 0) {
    failure = io_error("cannot make", path, errno);
  }
  std::string piece;
  std::uint64_t total = 0;
  while (!failure && !head.parser.is_done()) {
    const bool is_read = co_await next_piece(head, piece);
    if (!is_read) {
      co_return false;
    }
    if (total + piece.size() > max_bytes) {
      auto slot = std::make_shared<Slot>();
      co_return co_await refuse(std::move(slot), too_long(max_bytes));
    }
    if (piece.size() < kSpoolPiece && !head.parser.is_done()) {
      continue;
    }
    clear_deadline();  // now it is the disk that is slow
    const bool is_run = co_await work(shared_.workers, [&] {
      const std::uint64_t reserve = shared_.options.reserve_bytes;
      auto written = check_room(path.parent_path(), piece.size(), reserve);
      if (written) {
        written = write_all(file.get(), piece, path);
      }
      if (!written) {
        failure = std::move(written).error();
      }
    });
    if (!is_run) {
      failure = Error{ErrorKind::Unavailable, "the server is too busy"};
    }
    total += piece.size();
    piece.clear();
  }
  if (failure) {
    auto slot = std::make_shared<Slot>();
    co_return co_await refuse(std::move(slot), error_response(*failure));
  }
  clear_deadline();
  co_return true;
}

}  // namespace kedge::http
