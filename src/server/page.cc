#include "server/page.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/url.h"
#include "http/decompress.h"
#include "server/embedded.h"

namespace kedge::server {
namespace {

// Scripts only from here: what users logged is shown as text or in a frame without rights.
constexpr std::string_view kPolicy =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "media-src 'self' data: blob:; frame-src 'self' data: blob:; base-uri 'self'; "
    "frame-ancestors 'self'; form-action 'self'";

constexpr std::string_view kNoPage =
    "<!doctype html><title>kedge</title><p>This kedge was built without its web page "
    "(<code>web/dist</code> was not there). The API is at <a href=\"/api/v1/openapi.json\">"
    "/api/v1</a>.";

const EmbeddedFile* find_file(std::string_view path) {
  const auto files = page_files();
  const auto found = std::ranges::lower_bound(files, path, {}, &EmbeddedFile::path);
  return found != files.end() && found->path == path ? &*found : nullptr;
}

// "/lab/mnist/runs/a?x=1" becomes "../../../#/at/lab/mnist/runs/a?x=1": what is behind '#' is the
// page's to read. Relative, so that it holds behind a proxy that puts the server under a path.
http::Response redirect_to_page(const http::Request& request) {
  std::string up = "./";
  std::string place;
  std::string_view rest = std::string_view(request.path).substr(1);
  for (bool is_last = false; !is_last;) {
    const auto slash = rest.find('/');
    is_last = slash == std::string_view::npos;
    place += "/" + encode_url_part(rest.substr(0, slash));
    up += is_last ? "" : "../";
    rest.remove_prefix(is_last ? rest.size() : slash + 1);
  }
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    place += fmt::format("{}{}={}", separator, encode_url_part(name), encode_url_part(value));
    separator = '&';
  }
  http::Response response;
  response.status = 302;
  response.headers.add("Location", fmt::format("{}#/at{}", up, place));
  return response;
}

}  // namespace

Result<http::Response> page_response(const http::Request& request) {
  const std::string_view path = std::string_view(request.path).substr(1);
  if (path.starts_with("api/")) {
    return http::error_response(404, "there is nothing at this address",
                                "GET /api/v1/openapi.json lists what there is");
  }
  const EmbeddedFile* file = find_file(path.empty() ? "index.html" : path);
  const bool is_asset = file != nullptr && path.starts_with("assets/");
  if (file == nullptr && !path.empty() && !path.starts_with("assets/")) {
    return redirect_to_page(request);
  }
  http::Response response;
  if (file == nullptr) {
    if (!page_files().empty()) {
      return http::error_response(404, fmt::format("the page has no file '{}'", path));
    }
    response.headers.add("Content-Type", "text/html; charset=utf-8");
    response.body = kNoPage;
    return response;
  }
  response.headers.add("ETag", fmt::format("\"{}\"", file->etag));
  response.headers.add("Cache-Control",
                       is_asset ? "public, max-age=31536000, immutable" : "no-cache");
  response.headers.add("Vary", "Accept-Encoding");
  if (http::is_not_modified(request, file->etag)) {
    response.status = 304;
    return response;
  }
  response.headers.add("Content-Type", std::string(http::content_type_of(file->path)));
  response.headers.add("Content-Security-Policy", std::string(kPolicy));
  response.headers.add("Referrer-Policy", "same-origin");
  const auto accepted = request.headers.find("accept-encoding").value_or("");
  if (accepted.find("gzip") != std::string_view::npos) {
    response.headers.add("Content-Encoding", "gzip");
    response.body = file->gzip;
    return response;
  }
  constexpr std::uint64_t kMaxBytes = 64U << 20U;
  auto plain = http::decompress(std::string(file->gzip), "gzip", kMaxBytes);
  KEDGE_CHECK(std::holds_alternative<std::string>(plain), "our own files are whole");
  response.body = std::move(std::get<std::string>(plain));
  return response;
}

}  // namespace kedge::server
