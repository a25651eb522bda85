#include "http/internal/compress.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <zlib.h>
#include <zstd.h>

#include "core/result.h"

namespace kedge::http {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Whether "gzip;q=0.5, zstd" names the encoding, and not with q=0.
bool is_accepted(std::string_view accepted, std::string_view encoding) {
  while (!accepted.empty()) {
    const auto end = std::min(accepted.find(','), accepted.size());
    const std::string_view item = accepted.substr(0, end);
    accepted.remove_prefix(std::min(end + 1, accepted.size()));
    const auto semicolon = std::min(item.find(';'), item.size());
    if (trimmed(item.substr(0, semicolon)) == encoding) {
      const std::string_view rest = item.substr(semicolon);
      const auto weight = rest.find("q=");
      return weight == std::string_view::npos ||
             rest.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
    }
  }
  return false;
}

std::string pack_zstd(std::string_view bytes) {
  constexpr int kLevel = 3;
  std::string out(::ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ::ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  KEDGE_CHECK(::ZSTD_isError(size) == 0, "the bound of zstd is too small");
  out.resize(size);
  return out;
}

}  // namespace

std::string gzip(std::string_view bytes, int level) {
  z_stream stream{};
  constexpr int kGzipHeader = 15 + 16;
  KEDGE_CHECK(
      ::deflateInit2(&stream, level, Z_DEFLATED, kGzipHeader, 9, Z_DEFAULT_STRATEGY) == Z_OK,
      "zlib cannot begin");
  std::string out(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  KEDGE_CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END, "the bound of zlib is too small");
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

void compress(Response& response, std::string_view accepted) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30U;  // zlib counts in 32 bits
  auto* body = std::get_if<std::string>(&response.body);
  if (body == nullptr || response.status != 200 || body->size() < kMinCompressedBytes ||
      body->size() > kMostBytes || response.headers.find("Content-Encoding")) {
    return;
  }
  response.headers.add("Vary", "Accept-Encoding");
  if (is_accepted(accepted, "zstd")) {
    response.headers.add("Content-Encoding", "zstd");
    *body = pack_zstd(*body);
  } else if (is_accepted(accepted, "gzip")) {
    response.headers.add("Content-Encoding", "gzip");
    constexpr int kQuick = 3;
    *body = gzip(*body, kQuick);
  }
}

}  // namespace kedge::http
