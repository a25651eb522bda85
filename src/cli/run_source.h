// Runs for the verbs that show and change them, wherever they are: in folders here, or on a
// tracking server. Both give a run as the server's API does: its facts, config and summary.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/shared/arguments.h"
#include "core/result.h"

namespace kedge::cli {

// Which runs, in the words of docs/reference/query.md.
struct RunQuery {
  std::string project = {};  // empty: all
  std::string filter = {};
  std::vector<std::string> order = {};  // empty: newest first
  std::vector<std::string> fields = {};
  std::size_t limit = 100;
  bool is_trash = false;
};

class RunSource {
 public:
  virtual ~RunSource() = default;

  // {"runs": [...], "total": n, "warnings": [...]}, as the server's API answers; each run has its
  // "best" ({metric, value, epoch} or null) as well, and a folder's its "path".
  virtual Result<nlohmann::json> search(const RunQuery& query) = 0;

  // `word`: a run's folder, id or name here; PROJECT/ID on a server.
  virtual Result<nlohmann::json> load(const std::string& word) = 0;

  // Gets the run's tags and returns those it shall have; returns them.
  using Retag = std::function<std::vector<std::string>(std::vector<std::string> tags)>;
  virtual Result<std::vector<std::string>> tag(const std::string& word, const Retag& retag) = 0;

  // What remove() leaves: whether restore() brings a run back.
  virtual bool has_trash() const = 0;

  // Into the trash where there is one and `is_for_good` is false. A run that somebody works on is
  // refused.
  virtual Result<void> remove(const std::string& word, bool is_for_good) = 0;

  // Out of the trash. Usage where there is none.
  virtual Result<void> restore(const std::string& word) = 0;
};

// The folder --dir where it is given, else the server of --server or $KEDGE_SERVER, else runs/.
Result<std::unique_ptr<RunSource>> open_runs(const Arguments& arguments);

// The same, of the folder `dir` where it is given.
Result<std::unique_ptr<RunSource>> open_runs(const Arguments& arguments,
                                             const std::optional<std::string>& dir);

// The fields to ask for, so that lift_best() can give each run its "best".
std::vector<std::string> fields_with_best(const RunQuery& query);
void lift_best(nlohmann::json& answer, const RunQuery& query);

}  // namespace kedge::cli
