// What a request says before its body: 'r' first, a Range header, and behind a zero byte an
// If-Range; 'b', base64; 'z', a compressed body behind the name of its encoding and a zero byte;
// anything else, a target, which is then looked up in a router.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <unistd.h>

#include "core/base64.h"
#include "core/hex.h"
#include "core/result.h"
#include "core/utf8.h"
#include "http/decompress.h"
#include "http/http.h"
#include "input_file.h"

namespace {

using namespace kedge;
using namespace kedge::http;

constexpr std::uint64_t kFileBytes = 1000;
constexpr std::uint64_t kMaxBytes = 1U << 16U;

void ask_for_part(std::string_view input) {
  Request request;
  request.headers.add("range", std::string(take_until_zero(input)));
  if (!input.empty()) {
    request.headers.add("if-range", std::string(input));
  }
  const Response response = file_response(
      request,
      {.file = std::make_shared<OwnedFd>(), .size = kFileBytes, .etag = "e", .content_type = ""});
  if (const auto* part = std::get_if<FileBody>(&response.body)) {
    KEDGE_CHECK(part->offset <= kFileBytes && part->size <= kFileBytes - part->offset,
                "a part lies within its file");
    KEDGE_CHECK(response.status == 206 || part->size == kFileBytes, "and is called one");
  }
}

void unpack(std::string_view input) {
  const std::string_view encoding = take_until_zero(input);
  const auto body = decompress(std::string(input), encoding, kMaxBytes);
  const auto* bytes = std::get_if<std::string>(&body);
  KEDGE_CHECK(bytes == nullptr || bytes->size() <= kMaxBytes, "what comes out is bounded");
}

void decode(std::string_view input) {
  if (const auto bytes = decode_base64(input)) {
    KEDGE_CHECK(decode_base64(encode_base64(*bytes)) == bytes, "bytes come back");
  }
  (void)parse_hex(input);
}

const Router& router() {
  static const Router* const made = [] {
    auto* all = new Router();
    const auto handler = [](const Request&) -> Result<Response> { return Response(); };
    for (const char* pattern : {"/", "/api/v1/runs/{project}/{id}", "/api/v1/runs/{project}/search",
                                "/api/v1/runs/{project}/{id}/files/{path...}", "/{rest...}"}) {
      all->add(Method::Get, pattern, {}, handler);
    }
    return all;
  }();
  return *made;
}

void look_up(std::string_view input) {
  const auto target = parse_target(input);
  if (!target) {
    return;
  }
  for (const std::string& segment : target->segments) {
    KEDGE_CHECK(segment != "." && segment != ".." && segment.find('\0') == std::string::npos &&
                    is_utf8(segment),
                "no handler sees such a path");
  }
  const RouteMatch match = router().find(Method::Get, target->segments);
  KEDGE_CHECK(match.route == nullptr || match.parameters.size() <= 3, "a route has its parameters");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  if (mode == 'r') {
    ask_for_part(input.substr(1));
  } else if (mode == 'b') {
    decode(input.substr(1));
  } else if (mode == 'z') {
    unpack(input.substr(1));
  } else {
    look_up(input);
  }
  return 0;
}
