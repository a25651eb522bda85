// Makes a run's folder, or opens it again for the next attempt.
#pragma once

#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/internal/recorder.h"
#include "track/run.h"

namespace kedge::track {

struct OpenRun {
  std::string id;
  std::string name;
  Path path;
  nlohmann::json description;  // run.json
  Attempt attempt;
  RecorderFiles files;
  std::set<std::string> media_names = {};  // taken by earlier attempts
};

Result<OpenRun> create_run_folder(const RunStart& start);
Result<OpenRun> resume_run_folder(const RunStart& start, Attempt attempt, const ResumePoint& point);

Result<void> write_description(const Path& run, const nlohmann::json& description);

}  // namespace kedge::track
