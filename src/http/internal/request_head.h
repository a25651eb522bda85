// The parser of one request, which Beast has. Only the files that read from a connection include
// it.
#pragma once

#include <cstdint>
#include <limits>

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "http/internal/connection.h"

namespace kedge::http {

namespace beast = boost::beast;

struct Connection::Head {
  beast::http::request_parser<beast::http::buffer_body> parser;

  explicit Head(std::size_t max_bytes) {
    parser.header_limit(static_cast<std::uint32_t>(max_bytes));
    // The route decides, when it is known. boost::none would be a limit of nothing.
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  }
};

}  // namespace kedge::http
