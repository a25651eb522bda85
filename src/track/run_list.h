// The runs under a folder, for lists of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::track {

// The best value so far of the metric that decides which checkpoint is best.
struct BestValue {
  std::string metric;
  double value = 0;
  std::int64_t epoch = 0;
};

struct RunSummary {
  std::string id;
  std::string name;
  std::string project;
  std::string state;  // running, finished, failed, interrupted or killed
  int attempts = 0;
  std::optional<std::int64_t> last_step =
      {};  // of the newest attempt; nothing: no value logged yet
  std::int64_t created_us = 0;
  std::optional<BestValue> best = {};  // of a training that has ended
  std::vector<std::string> tags = {};
  Path path;
};

// All runs of all projects under `dir`, oldest first. Folders that are no runs are passed over;
// those whose run.json is broken are passed over with a warning.
Result<std::vector<RunSummary>> list_runs(const Path& dir);

// The folder of the run that a user means: a path, or PROJECT/ID, an id or a name under `dir`.
Result<Path> find_run_folder(const std::string& word, const Path& dir);

}  // namespace kedge::track
