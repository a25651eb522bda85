// Files that belong to no run: those of logged models, and what clients have put elsewhere. They
// lie on shelves: "models/m-1" is a logged model's, "" is nobody's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/series.h"
#include "store/store.h"

namespace kedge::store {

class LooseFiles {
 public:
  explicit LooseFiles(Store& store) : store_(store) {}

  Result<std::vector<RunFile>> list(const std::string& shelf) const;  // by path
  Result<std::optional<RunFile>> find(const std::string& shelf, const std::string& path) const;
  // In place of what was there.
  Result<void> put(const std::string& shelf, const RunFile& file);
  // The blobs stay: Artifacts::free_unused().
  Result<void> remove(const std::string& shelf, const std::vector<std::string>& paths);

  // Whose quota the shelf counts against; empty: nobody's.
  Result<std::string> project_of(const std::string& shelf) const;

 private:
  Store& store_;
};

}  // namespace kedge::store
