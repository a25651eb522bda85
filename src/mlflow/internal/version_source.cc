#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "mlflow/internal/artifact_path.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/logged_models.h"
#include "mlflow/internal/registry.h"
#include "mlflow/internal/runs.h"
#include "store/pattern.h"

namespace kedge::mlflow {
namespace {

// "s3" of "s3://bucket/x"; empty for a path.
std::string_view scheme_of(std::string_view uri) {
  const auto colon = uri.find(':');
  const bool is_scheme = colon != std::string_view::npos && colon > 1 &&  // C:\ is a drive
                         std::ranges::all_of(uri.substr(0, colon), [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                  (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
                         });
  return is_scheme ? uri.substr(0, colon) : std::string_view();
}

Fault bad_source(std::string_view source, std::string_view why) {
  return {Code::InvalidParameterValue,
          fmt::format("Invalid model version source: '{}'. {}", source, why)};
}

Fault bad_local(std::string_view source) {
  return bad_source(source,
                    "To use a local path as a model version source, the run_id request parameter "
                    "has to be specified and the local path has to be contained within the "
                    "artifact directory of the run specified by the run_id.");
}

Fault bad_remote(std::string_view source) {
  return bad_source(source,
                    "If supplying a source as an http, https, local file path, ftp, objectstore, "
                    "or mlflow-artifacts uri, an absolute path must be provided without relative "
                    "path references present. Please provide an absolute path.");
}

// The same variable as MLflow's own server has: only sources that match may become versions.
Outcome<void> check_allowed(std::string_view source) {
  constexpr const char* kVariable = "MLFLOW_CREATE_MODEL_VERSION_SOURCE_VALIDATION_REGEX";
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') {
    return {};
  }
  const auto pattern = store::Pattern::compile(text);
  if (!pattern) {
    return refuse(Code::InvalidState, fmt::format("{} of this server is no pattern: {}", kVariable,
                                                  pattern.error().message));
  }
  if (!pattern->is_in(source)) {
    return refuse(fmt::format("Invalid model version source: '{}'.", source));
  }
  return {};
}

// The path of "/a/b", "file:/a/b" or "file:///a/b", without dots; nothing for another machine's.
std::optional<std::string> local_path(std::string_view source) {
  if (source.starts_with("file:")) {
    source.remove_prefix(5);
    if (source.starts_with("//") && !source.starts_with("///")) {
      return std::nullopt;
    }
    while (source.starts_with("//")) {
      source.remove_prefix(1);
    }
  }
  const auto path = std::filesystem::path(source).lexically_normal().string();
  return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

bool is_inside(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

Outcome<void> check_local(const Call& call, const store::ModelVersion& draft) {
  const auto path = local_path(draft.source);
  std::string root;
  if (!draft.model_id.empty()) {
    const LoggedModel model = KEDGE_TRY(load_logged_model(call, draft.model_id));
    root = KEDGE_TRY(model_artifact_uri(call, model));
  } else if (!draft.run_id.empty()) {
    const LoadedRun run = KEDGE_TRY(load_run(call, draft.run_id));
    const auto project = find_experiment(call, run.key.project);
    root = project ? artifact_uri(*project, run.key.id) : "";
  }
  const bool is_local_root = root.starts_with('/') || root.starts_with("file:");
  const auto folder = is_local_root ? local_path(root) : std::nullopt;
  if (!path || !folder || !is_inside(*path, *folder)) {
    return std::unexpected(bad_local(draft.source));
  }
  return {};
}

// However it is encoded.
Outcome<void> check_remote(std::string_view source) {
  std::string_view path = source.substr(source.find(':') + 1);
  while (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  if (!check_path(path)) {
    return std::unexpected(bad_remote(source));
  }
  return {};
}

}  // namespace

Outcome<VersionSource> check_source(const Call& call, const store::ModelVersion& draft) {
  const std::string_view source = draft.source;
  KEDGE_TRY(check_allowed(source));
  const std::string_view scheme = scheme_of(source);
  VersionSource found{.location = draft.source, .run_id = draft.run_id};
  if (scheme.empty() || scheme == "file") {
    KEDGE_TRY(check_local(call, draft));
    return found;
  }
  KEDGE_TRY(check_remote(source));
  if (scheme != "models") {
    return found;
  }
  std::string_view name = source.substr(source.find('/') + 1);
  while (name.starts_with('/')) {
    name.remove_prefix(1);
  }
  if (const auto slash = name.find('/'); slash != std::string_view::npos) {
    const auto number = parse_integer(name.substr(slash + 1));
    const store::ModelVersion other =
        KEDGE_TRY(load_version(call, std::string(name.substr(0, slash)), number.value_or(0)));
    found.location = other.location.empty() ? other.source : other.location;
    return found;
  }
  const LoggedModel model = KEDGE_TRY(load_logged_model(call, std::string(name)));
  found.location = KEDGE_TRY(model_artifact_uri(call, model));
  found.run_id = found.run_id.empty() ? model.source_run : found.run_id;
  return found;
}

}  // namespace kedge::mlflow
