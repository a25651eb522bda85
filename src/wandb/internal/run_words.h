// A run's facts in the words of the wire, and back: states, wrapped configs, summaries.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/run.h"

namespace kedge::wandb {

// Texts of the dialect's own that are kept beside a run (store::Transcript).
inline constexpr const char* kConfigDocument = "wandb.config";    // as it came
inline constexpr const char* kSummaryDocument = "wandb.summary";  // as it came
inline constexpr const char* kStopDocument = "wandb.stop";        // asked to stop
inline constexpr const char* kExitDocument = "wandb.exitcode";
inline constexpr const char* kOriginDocument = "wandb.origin";  // program, repo, commit: JSON

using Documents = std::map<std::string, std::string>;

// running, finished, failed, crashed, killed, preempting, pending.
std::string_view render_state(store::RunState state);
std::optional<store::RunState> parse_state(std::string_view word);

// {"lr": {"value": 0.1}, "_wandb": ...} without its wrapping and without _wandb.
nlohmann::json unwrap_config(const nlohmann::json& wrapped);

// A run's config as the wire has it. What the client said counts where nobody has changed it since:
// it also knows of nulls, descriptions and _wandb.
nlohmann::json wrap_config(const nlohmann::json& config, const nlohmann::json& said);

// The patch (RFC 7396) that makes `after` of `before`.
nlohmann::json make_patch(const nlohmann::json& before, const nlohmann::json& after);

// What to set by hand so that a run's summary is `said`: values that are no curve's last.
nlohmann::json make_summary_patch(const store::Run& run, const nlohmann::json& said);

// The summary of a run whose client sent none: the curves' last values.
nlohmann::json render_summary(const store::Run& run);

}  // namespace kedge::wandb
