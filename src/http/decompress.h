// Bodies sent with Content-Encoding. What comes out is bounded before it is made: a few kilobytes
// can stand for gigabytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "http/http.h"

namespace kedge::http {

// The body as it was before, or the answer that refuses it: 413 beyond `max_bytes`, 415 for another
// encoding than gzip, deflate, zstd and identity, 400 for damaged bytes.
std::variant<std::string, Response> decompress(std::string body, std::string_view encoding,
                                               std::uint64_t max_bytes);

}  // namespace kedge::http
