// Long answers with Content-Encoding, for clients that take it.
#pragma once

#include <string>
#include <string_view>

#include "http/http.h"

namespace kedge::http {

// `level` as zlib's: 1 is quick, 9 small.
std::string gzip(std::string_view bytes, int level);

// Shorter bodies are sent as they are: nothing is gained.
inline constexpr std::size_t kMinCompressedBytes = 1024;

// `accepted` is the value of Accept-Encoding: zstd goes before gzip, because it takes a third of
// the time. Only whole answers (200) whose body is a text in memory; another is left as it is.
void compress(Response& response, std::string_view accepted);

}  // namespace kedge::http
