#include "http/decompress.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

namespace kedge::http {
namespace {

using Outcome = std::variant<std::string, Response>;

constexpr std::size_t kStep = 64U << 10U;

Response too_large(std::uint64_t max_bytes) {
  return error_response(
      413, fmt::format("the body is longer than {} bytes when decompressed", max_bytes),
      "send it in smaller parts");
}

Response damaged(std::string_view encoding) {
  return error_response(400, fmt::format("the body is not whole {} data", encoding));
}

Outcome inflate_body(std::string_view body, std::uint64_t max_bytes) {
  z_stream stream{};
  constexpr int kAnyHeader = 15 + 32;  // gzip's or zlib's
  if (::inflateInit2(&stream, kAnyHeader) != Z_OK) {
    return error_response(503, "no memory to decompress the body");
  }
  // zlib counts in 32 bits; routes allow less than that.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  std::string out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= max_bytes) {
    const std::size_t before = out.size();
    out.resize(before + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = kStep;
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.resize(before + kStep - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (out.size() > max_bytes) {
    return too_large(max_bytes);
  }
  const bool is_whole = state == Z_STREAM_END && stream.avail_in == 0;
  return is_whole ? Outcome(std::move(out)) : damaged("gzip");
}

Outcome unpack_zstd(std::string_view body, std::uint64_t max_bytes) {
  struct Freer {
    void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
  };

  const std::unique_ptr<ZSTD_DCtx, Freer> context(::ZSTD_createDCtx());
  if (!context) {
    return error_response(503, "no memory to decompress the body");
  }
  // The window is memory too, and the sender chooses it.
  ::ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, 27);
  std::string out;
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  std::size_t left = 1;  // not 0: a frame is not finished
  while (in.pos < in.size || left != 0) {
    const std::size_t before = out.size();
    out.resize(before + kStep);
    ZSTD_outBuffer piece{out.data() + before, kStep, 0};
    const std::size_t in_before = in.pos;
    left = ::ZSTD_decompressStream(context.get(), &piece, &in);
    out.resize(before + piece.pos);
    if (::ZSTD_isError(left) != 0 || (left != 0 && piece.pos == 0 && in.pos == in_before)) {
      return damaged("zstd");
    }
    if (out.size() > max_bytes) {
      return too_large(max_bytes);
    }
  }
  return out;
}

}  // namespace

Outcome decompress(std::string body, std::string_view encoding, std::uint64_t max_bytes) {
  if (encoding.empty() || encoding == "identity") {
    return body;
  }
  if (encoding == "zstd") {
    return unpack_zstd(body, max_bytes);
  }
  if (encoding == "gzip" || encoding == "x-gzip" || encoding == "deflate") {
    return inflate_body(body, max_bytes);
  }
  return error_response(415, fmt::format("the encoding '{}' is not known", encoding),
                        "gzip, deflate and zstd are");
}

}  // namespace kedge::http
