// Paths of artifacts as clients send them: what leads out of the artifact's own folder is refused,
// however often it is percent-encoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mlflow/internal/fault.h"

namespace kedge::mlflow {

// The path without slashes too many; empty stays empty. "Invalid path" for ".." between slashes, an
// absolute path, a backslash, a drive, '#' and control characters.
Outcome<std::string> check_path(std::string_view path);

// Where a path below mlflow-artifacts:/ leads: to the artifacts of a run or of a logged model, or
// to a file of nobody's.
struct ArtifactPlace {
  enum class Kind : std::uint8_t { Run, Model, Loose };
  Kind kind = Kind::Loose;
  std::string owner = {};  // the run's or the model's id
  std::string path = {};   // below the owner's artifacts; of Loose the whole
};

// `path` is a checked one: "7/RUN/artifacts/model". Whether there is such a run is not known here.
ArtifactPlace find_place(std::string_view path);

// What lies below our own mlflow-artifacts, as a path: of mlflow-artifacts:/P,
// mlflow-artifacts://HOST/P and http://HOST/api/2.0/mlflow-artifacts/artifacts/P it is P. Nothing
// for what lies elsewhere.
std::optional<std::string> proxied_path(std::string_view uri);

// One entry of a listing.
struct ListedFile {
  std::string name;
  bool is_folder = false;
  std::uint64_t size = 0;
};

// What lies directly in `folder` of all these files, sorted. `files` are (path, size).
std::vector<ListedFile> list_folder(const std::vector<std::pair<std::string, std::uint64_t>>& files,
                                    std::string_view folder);

}  // namespace kedge::mlflow
