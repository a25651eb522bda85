// The model registry as MLflow's clients see it, on the same tables as ours (store/models.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/filter.h"
#include "store/models.h"

namespace kedge::mlflow {

// `Registered Model with name=X not found`
Outcome<store::RegisteredModel> load_registered_model(const Call& call, const std::string& name);
// `Model Version (name=X, version=9) not found`
Outcome<store::ModelVersion> load_version(const Call& call, const std::string& name,
                                          std::int64_t version);
// Of the fields name and version.
Outcome<store::ModelVersion> load_version(const Call& call);

nlohmann::json render_version(const store::ModelVersion& version);
nlohmann::json render_registered_model(const store::RegisteredModel& model);

// The newest of each stage, or of these stages.
std::vector<store::ModelVersion> latest_versions(const store::RegisteredModel& model,
                                                 const std::vector<std::string>& stages);
// "production" as it is written: "Production".
Outcome<std::string> read_stage(const std::string& text);

Outcome<void> check_registry_tags(const KeyValues& tags);

// Prompts are models with a tag; searches leave them out unless they are asked for by it. Takes
// that clause out of the filter.
enum class Prompts : std::uint8_t { Without, Only };
Prompts take_prompt_clause(std::vector<Clause>& clauses);
bool is_prompt(const std::map<std::string, std::string>& tags);

// What a version may come from, and where its files then are.
struct VersionSource {
  std::string location = {};
  std::string run_id = {};
};

Outcome<VersionSource> check_source(const Call& call, const store::ModelVersion& draft);

}  // namespace kedge::mlflow
