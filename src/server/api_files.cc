#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxFileBytes = 1ULL << 40U;

// What users log must not act in the page's name: no scripts, no requests of its own.
constexpr std::string_view kSandbox =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self'; "
    "media-src 'self'";

Error gone(const store::RunFile& file) {
  return {ErrorKind::NotFound, fmt::format("the bytes of '{}' are not here", file.path)};
}

Result<http::Response> send_from_file(const http::Request& request, const store::RunFile& file,
                                      const Path& path) {
  auto fd = std::make_shared<OwnedFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd->get() < 0) {
    return std::unexpected(errno == ENOENT ? gone(file) : io_error("cannot open", path, errno));
  }
  return http::file_response(request,
                             {.file = std::move(fd),
                              .size = KEDGE_TRY(size_of_file(path)),
                              .etag = file.digest,
                              .content_type = std::string(http::content_type_of(file.path))});
}

// From S3, say: through us, piece by piece.
Result<http::Response> send_from_afar(const Api& api, const http::Request& request,
                                      const store::RunFile& file) {
  const auto size = KEDGE_TRY(api.blobs.find_size(file.digest));
  if (!size) {
    return std::unexpected(gone(file));
  }
  const auto produce = [&api, digest = file.digest](std::uint64_t offset, std::uint64_t count) {
    return [&api, digest, offset, left = count](std::string& chunk) mutable -> Result<bool> {
      constexpr std::uint64_t kPiece = 4U << 20U;
      const std::uint64_t taken = std::min(kPiece, left);
      chunk += KEDGE_TRY(api.blobs.read_all(digest, {.offset = offset, .size = taken}));
      offset += taken;
      left -= taken;
      return left > 0;
    };
  };
  return http::file_response(request,
                             {.file = nullptr,
                              .size = *size,
                              .etag = file.digest,
                              .content_type = std::string(http::content_type_of(file.path)),
                              .produce = produce});
}

Result<http::Response> list_files(const Api& api, const http::Request& request) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::RunFile& file : KEDGE_TRY(api.store.list_files(run_key(request)))) {
    list.push_back({{"path", file.path}, {"size", file.size}, {"digest", file.digest}});
  }
  return http::json_response(dump({{"files", std::move(list)}}));
}

Result<http::Response> get_file(const Api& api, const http::Request& request) {
  const std::string& path = request.parameter("path");
  const auto file = KEDGE_TRY(api.store.find_file(run_key(request), path));
  if (!file) {
    return fail(ErrorKind::NotFound, fmt::format("the run has no file '{}'", path));
  }
  return blob_response(api, request, *file);
}

}  // namespace

Result<void> check_quota(const Api& api, const http::Request& request, const std::string& project) {
  const std::uint64_t size =
      request.body_file ? KEDGE_TRY(size_of_file(*request.body_file)) : request.body.size();
  return api.artifacts.check_quota(project, size);
}

namespace {

Result<store::StoredBlob> take_body(const Api& api, const http::Request& request,
                                    std::string_view digest) {
  // An empty body was never spooled.
  return request.body_file ? api.blobs.put_file(*request.body_file, digest)
                           : api.blobs.put({}, digest);
}

Result<http::Response> put_file(const Api& api, const http::Request& request) {
  KEDGE_TRY(check_quota(api, request, request.parameter("project")));
  const auto kept = api.artifacts.keep_blobs();
  const store::StoredBlob blob = KEDGE_TRY(take_body(api, request, {}));
  const store::RunFile file{request.parameter("path"), blob.size, blob.digest};
  KEDGE_TRY(api.store.bind_file(run_key(request), file));
  return http::json_response(
      dump({{"path", file.path}, {"size", file.size}, {"digest", file.digest}}), 201);
}

Result<std::string> digest_of(const http::Request& request) {
  const std::string& digest = request.parameter("digest");
  if (!store::is_blob_digest(digest)) {
    return fail(ErrorKind::Usage, "a blob is named by its SHA-256: 64 hex digits in lower case");
  }
  return digest;
}

Result<http::Response> get_blob(const Api& api, const http::Request& request) {
  const std::string digest = KEDGE_TRY(digest_of(request));
  const auto size = KEDGE_TRY(api.blobs.find_size(digest));
  if (!size) {
    return fail(ErrorKind::NotFound, fmt::format("there is no blob {}", digest));
  }
  return blob_response(api, request, {.path = digest, .size = *size, .digest = digest});
}

Result<http::Response> put_blob(const Api& api, const http::Request& request) {
  const std::string digest = KEDGE_TRY(digest_of(request));
  const store::StoredBlob blob = KEDGE_TRY(take_body(api, request, digest));
  return http::json_response(dump({{"digest", blob.digest}, {"size", blob.size}}), 201);
}

}  // namespace

Result<http::Response> blob_response(const Api& api, const http::Request& request,
                                     const store::RunFile& file) {
  const auto path = api.blobs.find_path(file.digest);
  http::Response response = path ? KEDGE_TRY(send_from_file(request, file, *path))
                                 : KEDGE_TRY(send_from_afar(api, request, file));
  response.headers.add("Cache-Control", "private, no-cache");
  response.headers.add("Content-Security-Policy", std::string(kSandbox));
  return response;
}

void add_file_routes(Routes& routes) {
  const std::string files = "/api/v1/runs/{project}/{id}/files";
  const http::RouteOptions upload = {
      .role = http::Role::Write, .max_body_bytes = kMaxFileBytes, .is_spooled = true};
  routes.name("RunFile", R"({
    path: string,
    size: integer,
    digest: string,  // SHA-256
  })");
  routes.add(http::Method::Get, files,
             {.summary = "The files of a run", .answer = "{files: RunFile[]}"}, list_files);
  routes.add(http::Method::Get, files + "/{path...}",
             {.summary = "A file; Range and If-None-Match are heeded", .answer = "file"}, get_file);
  routes.add(http::Method::Put, files + "/{path...}",
             {.summary = "Store a file",
              .options = upload,
              .body = "file",
              .answer = "RunFile",
              .statuses = {201}},
             put_file);
  routes.add(http::Method::Get, "/api/v1/blobs/{digest}",
             {.summary = "The bytes with this SHA-256", .answer = "file"}, get_blob);
  routes.add(http::Method::Put, "/api/v1/blobs/{digest}",
             {.summary = "Store bytes; they must have this SHA-256",
              .options = upload,
              .body = "file",
              .answer = "{digest: string, size: integer}",
              .statuses = {201}},
             put_blob);
}

}  // namespace kedge::server
