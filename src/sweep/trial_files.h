// The files of one trial, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "search/trial.h"
#include "sweep/sweep_folder.h"

namespace kedge::sweep {

std::string_view name_of(search::TrialState state);

nlohmann::json result_json(const TrialResult& result);

// From trials/<n>.json and what lies in trials/<n>/.
TrialView view_of(const nlohmann::json& description, const Path& folder);

}  // namespace kedge::sweep
