#include "mlflow/internal/artifact_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "mlflow/internal/runs.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using store::RunFile;

constexpr auto kTextEndings = std::to_array<std::string_view>(
    {"txt",        "log",  "err",   "cfg",  "conf", "cnf", "cf",  "ini",
     "properties", "prop", "hocon", "toml", "yaml", "yml", "xml", "json",
     "js",         "py",   "py3",   "csv",  "tsv",  "md",  "rst", "ipynb"});

std::string_view name_of_file(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// What users have logged must not become a page in the server's name: texts are plain.
std::string content_type(std::string_view path) {
  const std::string name = lower(name_of_file(path));
  const auto dot = name.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (name == "mlmodel" || name == "mlproject" ||
      std::ranges::find(kTextEndings, ending) != kTextEndings.end()) {
    return "text/plain";
  }
  if (ending == "pdf") {
    return "application/pdf";
  }
  const std::string_view known = http::content_type_of(name);
  return known.starts_with("text/") ? "text/plain" : std::string(known);
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string disposition(std::string_view path) {
  const std::string_view name = name_of_file(path);
  const auto is_token = [](char c) {
    return c > ' ' && c < 127 &&
           std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
  };
  if (std::ranges::all_of(name, is_token)) {
    return fmt::format("attachment; filename={}", name);
  }
  std::string ascii;
  for (const char c : name) {
    ascii += c >= ' ' && c < 127 && c != '"' && c != '\\' ? c : '_';
  }
  return fmt::format("attachment; filename=\"{}\"; filename*=UTF-8''{}", ascii,
                     percent_encoded(name));
}

Outcome<http::Response> send_blob(const Call& call, const RunFile& file) {
  const auto path = call.api.blobs.find_path(file.digest);
  if (!path) {
    return KEDGE_TRY(server::blob_response(call.api, call.request, file));
  }
  auto fd = std::make_shared<OwnedFd>(::open(path->c_str(), O_RDONLY | O_CLOEXEC));
  if (fd->get() < 0) {
    return std::unexpected(Fault(io_error("cannot open", *path, errno)));
  }
  return http::file_response(call.request, {.file = std::move(fd),
                                            .size = KEDGE_TRY(size_of_file(*path)),
                                            .etag = file.digest,
                                            .content_type = content_type(file.path)});
}

}  // namespace

Outcome<FilePlace> locate(const Call& call, std::string_view path) {
  ArtifactPlace place = find_place(path);
  if (place.kind == ArtifactPlace::Kind::Run) {
    auto run = load_run(call, place.owner);
    if (run) {
      return FilePlace{.owner = {.run = run->key}, .path = std::move(place.path)};
    }
    if (run.error().code != Code::ResourceDoesNotExist) {
      return std::unexpected(run.error());
    }
  }
  if (!call.request.caller.project.empty()) {
    return refuse(Code::PermissionDenied, "this token is for the runs of one project");
  }
  if (place.kind == ArtifactPlace::Kind::Model) {
    return FilePlace{.owner = {.shelf = "models/" + place.owner}, .path = std::move(place.path)};
  }
  return FilePlace{.owner = {}, .path = std::string(path)};
}

Outcome<FilePlace> locate_uri(const Call& call, std::string_view uri, std::string_view path) {
  const auto root = proxied_path(uri);
  if (!root) {
    return refuse(
        fmt::format("the artifacts at '{}' are not kept by this server: read them there", uri));
  }
  const std::string below = KEDGE_TRY(check_path(path));
  return locate(call, root->empty() || below.empty() ? *root + below : *root + "/" + below);
}

Outcome<std::vector<RunFile>> list_files(const Call& call, const FileOwner& owner) {
  return KEDGE_TRY(owner.run ? call.api.store.list_files(*owner.run)
                             : call.state.loose_files.list(owner.shelf));
}

Outcome<std::optional<RunFile>> find_file(const Call& call, const FilePlace& place) {
  const FileOwner& owner = place.owner;
  return KEDGE_TRY(owner.run ? call.api.store.find_file(*owner.run, place.path)
                             : call.state.loose_files.find(owner.shelf, place.path));
}

Outcome<std::string> put_body(const Call& call, const FilePlace& place) {
  const FileOwner& owner = place.owner;
  KEDGE_TRY(server::check_quota(
      call.api, call.request,
      owner.run ? owner.run->project : KEDGE_TRY(call.state.loose_files.project_of(owner.shelf))));
  return put_blob(call, place, [&] {
    const auto& body = call.request.body_file;  // an empty one was never spooled
    return body ? call.api.blobs.put_file(*body) : call.api.blobs.put(call.request.body);
  });
}

Outcome<std::string> put_blob(const Call& call, const FilePlace& place,
                              const std::function<Result<store::StoredBlob>()>& make) {
  const auto before = KEDGE_TRY(find_file(call, place));
  std::string digest;
  {
    const auto kept = call.api.artifacts.keep_blobs();
    const store::StoredBlob blob = KEDGE_TRY(make());
    const RunFile file{.path = place.path, .size = blob.size, .digest = blob.digest};
    digest = blob.digest;
    KEDGE_TRY(place.owner.run ? call.api.store.bind_file(*place.owner.run, file)
                              : call.state.loose_files.put(place.owner.shelf, file));
  }
  if (before && before->digest != digest) {
    KEDGE_TRY(call.api.artifacts.free_unused({before->digest}));
  }
  return digest;
}

Outcome<void> remove_files(const Call& call, const FilePlace& place) {
  std::vector<std::string> paths;
  std::vector<std::string> digests;
  for (const RunFile& file : KEDGE_TRY(list_files(call, place.owner))) {
    if (file.path == place.path || place.path.empty() || file.path.starts_with(place.path + "/")) {
      paths.push_back(file.path);
      digests.push_back(file.digest);
    }
  }
  KEDGE_TRY(place.owner.run ? call.api.store.unbind_files(*place.owner.run, paths)
                            : call.state.loose_files.remove(place.owner.shelf, paths));
  KEDGE_TRY(call.api.artifacts.free_unused(digests));
  return {};
}

Outcome<http::Response> send_file(const Call& call, const FilePlace& place) {
  const auto file = KEDGE_TRY(find_file(call, place));
  if (!file) {
    const auto below = KEDGE_TRY(render_folder(call, place, {}));
    if (!below.empty()) {
      return refuse(fmt::format("'{}' is a directory", place.path));
    }
    return refuse(Code::ResourceDoesNotExist, fmt::format("No such artifact: '{}'", place.path));
  }
  http::Response response = KEDGE_TRY(send_blob(call, *file));
  response.headers.add("Content-Disposition", disposition(file->path));
  return response;
}

Outcome<nlohmann::json> render_folder(const Call& call, const FilePlace& place,
                                      const std::string& prefix) {
  std::vector<std::pair<std::string, std::uint64_t>> files;
  for (RunFile& file : KEDGE_TRY(list_files(call, place.owner))) {
    files.emplace_back(std::move(file.path), file.size);
  }
  nlohmann::json list = nlohmann::json::array();
  for (const ListedFile& entry : list_folder(files, place.path)) {
    nlohmann::json shown = {{"path", prefix + entry.name}, {"is_dir", entry.is_folder}};
    if (!entry.is_folder) {
      shown["file_size"] = entry.size;
    }
    list.push_back(std::move(shown));
  }
  return list;
}

}  // namespace kedge::mlflow
