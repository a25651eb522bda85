// Experiments are projects; their ids are the projects' numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mlflow/internal/call.h"
#include "store/run.h"

namespace kedge::mlflow {

// Which of them a search shows: those in the trash, the others, or both. Of runs too.
inline constexpr auto kLifecycleViews =
    std::to_array<EnumName>({{"ACTIVE_ONLY", 1}, {"DELETED_ONLY", 2}, {"ALL", 3}});

// A project with artifact_root filled in: mlflow-artifacts:/7, or below the server's
// --artifact-root, unless it was made with another place.
std::optional<store::Project> find_experiment(const Call& call, const std::string& name);
std::optional<store::Project> find_experiment(const Call& call, std::int64_t id);

// A folder below an experiment's artifacts: "PLACE/below".
std::string join_location(const store::Project& project, std::string_view below);

// One in the trash is loaded too. 404 in MLflow's words; PERMISSION_DENIED when it is not the
// caller's.
Outcome<store::Project> load_experiment(const Call& call, std::string_view id);
Outcome<store::Project> load_experiment(const Call& call);  // of the field experiment_id

Outcome<void> check_active(const store::Project& project);

}  // namespace kedge::mlflow
