#include "mlflow/internal/artifact_path.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/url.h"

namespace kedge::mlflow {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

bool leads_elsewhere(std::string_view path) {
  const bool is_drive = path.size() > 1 && path[1] == ':' &&
                        ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z') &&
                        (path.size() == 2 || path[2] == '/' || path[2] == '\\');
  const auto is_bad = [](char c) {
    return c == '\\' || c == '#' || static_cast<unsigned char>(c) < 0x20;
  };
  return path.starts_with('/') || is_drive || std::ranges::any_of(path, is_bad) ||
         std::ranges::any_of(split(path), [](std::string_view part) { return part == ".."; });
}

}  // namespace

Outcome<std::string> check_path(std::string_view path) {
  std::string decoded(path);
  while (true) {
    if (leads_elsewhere(decoded)) {
      return refuse("Invalid path");
    }
    std::string next = decode_url(decoded).text;
    if (next.size() == decoded.size()) {
      break;
    }
    decoded = std::move(next);
  }
  auto parts = split(path);
  std::erase_if(parts, [](std::string_view part) { return part.empty() || part == "."; });
  return fmt::format("{}", fmt::join(parts, "/"));
}

ArtifactPlace find_place(std::string_view path) {
  const auto parts = split(path);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] != "artifacts") {
      continue;
    }
    const bool is_model = i > 1 && parts[i - 2] == "models";
    return {.kind = is_model ? ArtifactPlace::Kind::Model : ArtifactPlace::Kind::Run,
            .owner = std::string(parts[i - 1]),
            .path = fmt::format("{}", fmt::join(parts.begin() + static_cast<std::ptrdiff_t>(i + 1),
                                                parts.end(), "/"))};
  }
  return {.path = std::string(path)};
}

std::optional<std::string> proxied_path(std::string_view uri) {
  constexpr std::string_view kScheme = "mlflow-artifacts:";
  constexpr std::string_view kProxy = "/api/2.0/mlflow-artifacts/artifacts";
  if (uri.starts_with(kScheme)) {
    uri.remove_prefix(kScheme.size());
    if (uri.starts_with("//") && !uri.starts_with("///")) {
      const auto slash = uri.find('/', 2);
      uri = slash == std::string_view::npos ? std::string_view() : uri.substr(slash);
    }
  } else if (uri.starts_with("http://") || uri.starts_with("https://")) {
    const auto found = uri.find(kProxy);
    if (found == std::string_view::npos) {
      return std::nullopt;
    }
    uri.remove_prefix(found + kProxy.size());
  } else {
    return std::nullopt;
  }
  while (uri.starts_with('/')) {
    uri.remove_prefix(1);
  }
  const auto path = check_path(uri);
  return path ? std::optional(*path) : std::nullopt;
}

std::vector<ListedFile> list_folder(const std::vector<std::pair<std::string, std::uint64_t>>& files,
                                    std::string_view folder) {
  const std::string prefix = folder.empty() ? "" : std::string(folder) + "/";
  std::map<std::string, ListedFile, std::less<>> found;
  for (const auto& [path, size] : files) {
    if (!path.starts_with(prefix)) {
      continue;
    }
    const std::string_view below = std::string_view(path).substr(prefix.size());
    const auto slash = below.find('/');
    const std::string name(below.substr(0, slash));
    ListedFile& entry = found[name];
    entry.name = name;
    entry.is_folder = entry.is_folder || slash != std::string_view::npos;
    entry.size = entry.is_folder ? 0 : size;
  }
  std::vector<ListedFile> list;
  for (auto& [name, entry] : found) {
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace kedge::mlflow
