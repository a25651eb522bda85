#include "track/checkpoint_upload.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/file_digest.h"
#include "core/result.h"
#include "core/url.h"

namespace kedge::track {
namespace {

using nlohmann::json;

// What is being written or removed, was moved away or found damaged is no checkpoint.
bool is_checkpoint_name(const std::string& name) {
  return name.find(".tmp-") == std::string::npos && !name.ends_with(".old") &&
         name.find(".bad") == std::string::npos;
}

std::optional<json> read_manifest(const Path& folder) {
  const auto text = read_file(folder / "manifest.json");
  if (!text) {
    return std::nullopt;
  }
  json manifest = json::parse(*text, nullptr, false);
  if (!manifest.is_object() || !manifest.contains("state") || !manifest["state"].is_object() ||
      !manifest.contains("manifest_xxh3") || !manifest["manifest_xxh3"].is_string()) {
    return std::nullopt;
  }
  return manifest;
}

struct LocalFile {
  Path path;
  json entry;  // as the API wants it
};

Result<std::vector<LocalFile>> list_files(const Path& folder) {
  std::vector<LocalFile> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error)) {
      continue;
    }
    const Path path = entry->path();
    files.push_back({path,
                     {{"path", path.filename().string()},
                      {"size", KEDGE_TRY(size_of_file(path))},
                      {"digest", KEDGE_TRY(sha256_of_file(path))}}});
  }
  if (error) {
    return fail(ErrorKind::NotFound, fmt::format("{}: {}", folder.string(), error.message()));
  }
  std::ranges::sort(files, {}, [](const LocalFile& file) { return file.path; });
  return files;
}

}  // namespace

std::vector<CheckpointUpload::Found> CheckpointUpload::find() const {
  std::vector<Found> list;
  if (which_ == WhichCheckpoints::None) {
    return list;
  }
  std::error_code error;
  const std::string best =
      std::filesystem::read_symlink(run_ / "checkpoints/best", error).filename().string();
  std::filesystem::directory_iterator entry(run_ / "checkpoints", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (entry->is_symlink() || !is_checkpoint_name(name) ||
        (which_ == WhichCheckpoints::Best && name != best)) {
      continue;
    }
    if (const auto manifest = read_manifest(entry->path())) {
      list.push_back({.name = name,
                      .manifest = (*manifest)["manifest_xxh3"].get<std::string>(),
                      .step = (*manifest)["state"].value("step", std::int64_t{0}),
                      .is_best = name == best});
    }
  }
  std::ranges::sort(list, {}, &Found::step);
  return list;
}

std::size_t CheckpointUpload::waiting_count() const {
  const auto waits = [&](const Found& found) { return !versions_.contains(found.manifest); };
  return static_cast<std::size_t>(std::ranges::count_if(find(), waits));
}

std::string CheckpointUpload::path() const {
  return fmt::format("/api/v1/artifacts/{}/checkpoints-{}", encode_url_part(name_.project),
                     encode_url_part(name_.id));
}

Result<void> CheckpointUpload::ask_server() {
  const auto answer = link_.call("GET", path());
  if (!answer && answer.error().kind != ErrorKind::NotFound) {
    return std::unexpected(answer.error());
  }
  if (answer && answer->contains("versions") && (*answer)["versions"].is_array()) {
    for (const json& version : (*answer)["versions"]) {
      const std::string manifest = version.value("/metadata/manifest_xxh3"_json_pointer, "");
      versions_[manifest] = version.value("version", "");
      const auto aliases = version.value("aliases", std::vector<std::string>());
      if (std::ranges::find(aliases, "best") != aliases.end()) {
        best_ = manifest;
      }
    }
  }
  has_asked_ = true;
  return {};
}

// False: it is not there any more.
Result<bool> CheckpointUpload::send_one(const Found& found) {
  const Path folder = run_ / "checkpoints" / found.name;
  const auto manifest = read_manifest(folder);
  const auto files = list_files(folder);
  if (!manifest || !files) {
    return false;
  }
  const json& state = (*manifest)["state"];
  json draft = {{"type", "checkpoint"},
                {"run", name_.id},
                {"aliases", {found.name}},
                {"metadata",
                 {{"name", found.name},
                  {"step", found.step},
                  {"epoch", state.value("epoch", json())},
                  {"score", state.value("score", json())},
                  {"manifest_xxh3", found.manifest}}},
                {"files", json::array()}};
  for (const LocalFile& file : *files) {
    draft["files"].push_back(file.entry);
  }
  json answer = KEDGE_TRY(link_.call("POST", path(), draft));
  const auto missing = answer.value("missing", std::set<std::string>());
  for (const LocalFile& file : *files) {
    const auto digest = file.entry["digest"].get<std::string>();
    if (!missing.contains(digest)) {
      continue;
    }
    if (!std::filesystem::exists(file.path)) {
      return false;
    }
    KEDGE_TRY(link_.send_blob(digest, file.path));
  }
  if (!missing.empty()) {
    answer = KEDGE_TRY(link_.call("POST", path(), draft));
  }
  if (!answer.contains("version") || !answer["version"].is_object()) {
    return fail(ErrorKind::Unavailable, fmt::format("{} has lost files of {} while they were sent",
                                                    link_.url(), folder.string()));
  }
  versions_[found.manifest] = answer["version"].value("version", "");
  ++sent_count_;
  return true;
}

Result<void> CheckpointUpload::send() {
  if (which_ == WhichCheckpoints::None) {
    return {};
  }
  if (!has_asked_) {
    KEDGE_TRY(ask_server());
  }
  for (const Found& found : find()) {
    if (!versions_.contains(found.manifest) && !KEDGE_TRY(send_one(found))) {
      continue;
    }
    if (found.is_best && best_ != found.manifest) {
      KEDGE_TRY(link_.call(
          "PUT", fmt::format("{}/{}/aliases/best", path(), versions_[found.manifest]), json()));
      best_ = found.manifest;
    }
  }
  return {};
}

}  // namespace kedge::track
