// The bytes of artifacts: a run's are files of the run, so that its page and the native API show
// them; those of logged models and of nobody lie in a table beside. All are blobs of the store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/artifact_path.h"
#include "mlflow/internal/call.h"
#include "store/series.h"

namespace kedge::mlflow {

// Whose files and where among them.
struct FileOwner {
  std::optional<store::RunKey> run = {};
  std::string shelf = {};  // without a run: the part of the table, "models/m-1" or ""
};

struct FilePlace {
  FileOwner owner;
  std::string path;  // below the owner's root; "" is the root
};

// `path` is a checked one below mlflow-artifacts:/.
Outcome<FilePlace> locate(const Call& call, std::string_view path);
// The path below what a URI of a run, a model or a version names; 400 when we do not keep it.
Outcome<FilePlace> locate_uri(const Call& call, std::string_view uri, std::string_view path);

Outcome<std::vector<store::RunFile>> list_files(const Call& call, const FileOwner& owner);
Outcome<std::optional<store::RunFile>> find_file(const Call& call, const FilePlace& place);
// Puts the blob that `make` stores there, in place of what was there. Returns its digest.
Outcome<std::string> put_blob(const Call& call, const FilePlace& place,
                              const std::function<Result<store::StoredBlob>()>& make);
// The same with the request's body.
Outcome<std::string> put_body(const Call& call, const FilePlace& place);
// A file, or all below a folder; what is not there is fine.
Outcome<void> remove_files(const Call& call, const FilePlace& place);

// The bytes as a download; 404 `No such artifact: 'P'`.
Outcome<http::Response> send_file(const Call& call, const FilePlace& place);

// {"path", "is_dir", "file_size"} of what lies in the place; `prefix` stands before the names.
Outcome<nlohmann::json> render_folder(const Call& call, const FilePlace& place,
                                      const std::string& prefix);

}  // namespace kedge::mlflow
