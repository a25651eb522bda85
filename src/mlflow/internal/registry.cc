#include "mlflow/internal/registry.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/names.h"

namespace kedge::mlflow {
namespace {

constexpr const char* kPromptTag = "mlflow.prompt.is_prompt";
constexpr auto kStages =
    std::to_array<std::string_view>({"None", "Staging", "Production", "Archived"});

Fault no_model(const std::string& name) {
  return {Code::ResourceDoesNotExist, fmt::format("Registered Model with name={} not found", name)};
}

}  // namespace

Outcome<store::RegisteredModel> load_registered_model(const Call& call, const std::string& name) {
  auto model = call.api.models.find(name);
  if (!model && model.error().kind == ErrorKind::NotFound) {
    return std::unexpected(no_model(name));
  }
  return KEDGE_TRY(std::move(model));
}

Outcome<store::ModelVersion> load_version(const Call& call, const std::string& name,
                                          std::int64_t version) {
  auto found = call.api.models.find_version(name, version);
  if (!found && found.error().kind == ErrorKind::NotFound) {
    return refuse(Code::ResourceDoesNotExist,
                  fmt::format("Model Version (name={}, version={}) not found", name, version));
  }
  return KEDGE_TRY(std::move(found));
}

Outcome<store::ModelVersion> load_version(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string text = KEDGE_TRY(call.fields.need_text("version"));
  const auto version = parse_integer(text);
  if (!version) {
    return refuse(fmt::format("Parameter 'version' must be an integer, got '{}'.", text));
  }
  return load_version(call, name, *version);
}

nlohmann::json render_version(const store::ModelVersion& version) {
  nlohmann::json body = {{"name", version.model},
                         {"version", std::to_string(version.version)},
                         {"creation_timestamp", to_ms(version.created_us)},
                         {"last_updated_timestamp", to_ms(version.changed_us)},
                         {"current_stage", version.stage},
                         {"description", version.description},
                         {"source", version.source},
                         {"run_id", version.run_id},
                         {"status", "READY"},
                         {"run_link", version.run_link}};
  if (!version.tags.empty()) {
    body["tags"] = render_pairs({version.tags.begin(), version.tags.end()});
  }
  if (!version.aliases.empty()) {
    body["aliases"] = version.aliases;
  }
  if (!version.model_id.empty()) {
    body["model_id"] = version.model_id;
  }
  if (!version.user.empty()) {
    body["user_id"] = version.user;
  }
  return body;
}

nlohmann::json render_registered_model(const store::RegisteredModel& model) {
  nlohmann::json body = {{"name", model.name},
                         {"creation_timestamp", to_ms(model.created_us)},
                         {"last_updated_timestamp", to_ms(model.changed_us)},
                         {"description", model.description}};
  for (const store::ModelVersion& version : latest_versions(model, {})) {
    body["latest_versions"].push_back(render_version(version));
  }
  if (!model.tags.empty()) {
    body["tags"] = render_pairs({model.tags.begin(), model.tags.end()});
  }
  for (const auto& [alias, version] : model.aliases) {
    body["aliases"].push_back({{"alias", alias}, {"version", std::to_string(version)}});
  }
  return body;
}

std::vector<store::ModelVersion> latest_versions(const store::RegisteredModel& model,
                                                 const std::vector<std::string>& stages) {
  std::vector<store::ModelVersion> latest;
  std::set<std::string> seen;
  for (const store::ModelVersion& version : model.versions) {  // the newest first
    const bool is_asked =
        stages.empty() || std::ranges::find(stages, version.stage) != stages.end();
    if (is_asked && seen.insert(version.stage).second) {
      latest.push_back(version);
    }
  }
  std::ranges::reverse(latest);
  return latest;
}

Outcome<std::string> read_stage(const std::string& text) {
  for (const std::string_view stage : kStages) {
    if (lower(stage) == lower(text)) {
      return std::string(stage);
    }
  }
  return refuse(fmt::format("Invalid Model Version stage: {}. Value must be one of {}.", text,
                            fmt::join(kStages, ", ")));
}

Outcome<void> check_registry_tags(const KeyValues& tags) {
  for (const auto& [key, value] : tags) {
    KEDGE_TRY(check_key(key, "key"));
    KEDGE_TRY(check_length(key, kMaxKey, "key"));
    KEDGE_TRY(check_length(value, 100'000, "value"));
  }
  return {};
}

Prompts take_prompt_clause(std::vector<Clause>& clauses) {
  Prompts prompts = Prompts::Without;
  std::erase_if(clauses, [&](const Clause& clause) {
    const bool is_about =
        clause.entity == Entity::Tag && clause.key == kPromptTag &&
        (clause.comparator == Comparator::Equal || clause.comparator == Comparator::NotEqual);
    if (is_about && (clause.text == "true") == (clause.comparator == Comparator::Equal)) {
      prompts = Prompts::Only;
    }
    return is_about;
  });
  return prompts;
}

bool is_prompt(const std::map<std::string, std::string>& tags) {
  const auto found = tags.find(kPromptTag);
  return found != tags.end() && found->second == "true";
}

}  // namespace kedge::mlflow
