// Runs for the verbs that show and change them, wherever they are: in folders here, or on a
// tracking server. Both give a run as the server's API does: its facts, config and summary.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/shared/arguments.h"
#include "core/result.h"

namespace kedge::cli {

class RunSource {
 public:
  virtual ~RunSource() = default;

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

}  // namespace kedge::cli
