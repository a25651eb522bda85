// One trial as JSON: its files, and what travels to a server and back.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "search/trial.h"
#include "sweep/sweep.h"

namespace kedge::sweep {

std::string_view name_of(search::TrialState state);

nlohmann::json result_json(const TrialResult& result);
TrialResult parse_result(const nlohmann::json& json);

// A curve as JSON has it: null for what is no number.
std::vector<double> parse_curve(const nlohmann::json& json);

// A whole trial, as the server and agents exchange it.
nlohmann::json render_trial(const TrialView& view);
TrialView parse_trial(const nlohmann::json& json);

// The state and the metric that follow from what is known: a result, a pause, attempts.
void conclude_state(TrialView& view, bool is_paused);

// From trials/<n>.json and what lies in trials/<n>/.
TrialView view_of(const nlohmann::json& description, const Path& folder);

}  // namespace kedge::sweep
