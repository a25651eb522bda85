#include "mlflow/internal/scorers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/experiments.h"
#include "mlflow/internal/gateway.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Database;
using store::Object;
using store::Objects;

Outcome<json> render_scorer_version(const Call& call, const Object& scorer, const json& version) {
  return json{{"experiment_id", parse_integer(scorer.parent).value_or(0)},
              {"scorer_name", scorer.name},
              {"scorer_id", scorer.id},
              {"scorer_version", version.at("version")},
              {"serialized_scorer", KEDGE_TRY(render_scorer(call, version))},
              {"creation_time", version.at("creation_time")}};
}

std::string scorer_not_found(const std::string& experiment, const std::string& name,
                             const std::optional<std::int64_t>& version) {
  return version
             ? fmt::format("Scorer with name '{}' and version {} not found for experiment {}.",
                           name, *version, experiment)
             : fmt::format("Scorer with name '{}' not found for experiment {}.", name, experiment);
}

// What is kept of a version besides its number: the text, and the endpoint that it names.
Outcome<json> read_version(const Call& call, const std::string& name, const std::string& text) {
  if (name.find_first_not_of(" \t\r\n") == std::string::npos) {
    return refuse("Scorer name cannot be empty or contain only whitespace.");
  }
  auto parsed = parse_body(text);  // not nested without end, as find_judge() needs it
  if (!parsed || !parsed->is_object()) {
    return refuse("serialized_scorer must be valid JSON");
  }
  json& scorer = *parsed;
  // Whoever reads it would run that source.
  if (scorer.contains("call_source") && !scorer.at("call_source").is_null()) {
    return refuse(
        "Registering scorers created with the @scorer decorator is not supported outside of "
        "Databricks tracking environments due to security reasons: their source is run by those "
        "who load them.");
  }
  json version = {{"serialized_scorer", text}};
  const json* judge = find_judge(scorer);
  const std::string model = judge != nullptr ? judge->get<std::string>() : "";
  if (model.starts_with(kGatewayPrefix)) {
    const std::string endpoint = model.substr(kGatewayPrefix.size());
    version["endpoint_id"] = KEDGE_TRY(load_named_gateway(call, kEndpointKey, endpoint)).id;
  }
  return version;
}

Outcome<store::Project> load_active_experiment(const Call& call) {
  auto project = KEDGE_TRY(load_experiment(call));
  KEDGE_TRY(check_active(project));
  return project;
}

Outcome<Response> add_version(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string text = KEDGE_TRY(call.fields.need_text("serialized_scorer"));
  const auto project = KEDGE_TRY(load_active_experiment(call));
  json version = KEDGE_TRY(read_version(call, name, text));
  const std::string experiment = std::to_string(project.id);
  const Object fresh{.kind = std::string(kScorerKind),
                     .id = make_id(),
                     .project = project.id,
                     .parent = experiment,
                     .name = name,
                     .created_us = call.api.now_us(),
                     .body = {{"versions", json::array()}}};
  version["creation_time"] = to_ms(fresh.created_us);
  Object scorer;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    Objects objects(database);
    scorer = KEDGE_TRY(objects.find_named(kScorerKind, experiment, name)).value_or(fresh);
    json& versions = versions_of(scorer);
    version["version"] = versions.empty() ? 1 : versions.back()["version"].get<std::int64_t>() + 1;
    versions.push_back(version);
    return objects.put(scorer);
  }));
  return reply({{"version", version["version"]},
                {"scorer_id", scorer.id},
                {"experiment_id", experiment},
                {"name", name},
                {"serialized_scorer", text},
                {"creation_time", version["creation_time"]}});
}

// The newest version of each.
Outcome<Response> list_scorers(const Call& call) {
  const std::string experiment = KEDGE_TRY(call.fields.text("experiment_id"));
  if (!experiment.empty()) {
    KEDGE_TRY(load_active_experiment(call));
  }
  auto scorers = KEDGE_TRY(list_objects(
      call, kScorerKind, experiment.empty() ? std::nullopt : std::optional(experiment)));
  std::ranges::sort(scorers, {}, [](const Object& scorer) {
    return std::pair(scorer.project.value_or(0), scorer.name);
  });
  json body = json::object();
  for (Object& scorer : scorers) {
    const auto project = load_experiment(call, scorer.parent);
    if (project && check_active(*project) && !versions_of(scorer).empty()) {
      body["scorers"].push_back(
          KEDGE_TRY(render_scorer_version(call, scorer, versions_of(scorer).back())));
    }
  }
  return reply(body);
}

Outcome<Response> list_versions(const Call& call) {
  Object scorer = KEDGE_TRY(load_scorer(call));
  json body = json::object();
  for (const json& version : versions_of(scorer)) {
    body["scorers"].push_back(KEDGE_TRY(render_scorer_version(call, scorer, version)));
  }
  return reply(body);
}

Outcome<Response> get_scorer(const Call& call) {
  Object scorer = KEDGE_TRY(load_scorer(call));
  const auto asked = KEDGE_TRY(call.fields.find_integer("version"));
  const json& versions = versions_of(scorer);
  const auto found = std::ranges::find_if(
      versions, [&](const json& version) { return !asked || version.at("version") == *asked; });
  if (found == versions.end()) {
    return refuse(Code::ResourceDoesNotExist, scorer_not_found(scorer.parent, scorer.name, asked));
  }
  const json& version = asked ? *found : versions.back();
  return reply({{"scorer", KEDGE_TRY(render_scorer_version(call, scorer, version))}});
}

Outcome<Response> remove_scorer(const Call& call) {
  const Object scorer = KEDGE_TRY(load_scorer(call));
  const auto asked = KEDGE_TRY(call.fields.find_integer("version"));
  if (!asked) {
    KEDGE_TRY(remove_object(call, kScorerKind, scorer.id));
    return reply_empty();
  }
  const std::string missing = scorer_not_found(scorer.parent, scorer.name, asked);
  KEDGE_TRY(edit_object(call, kScorerKind, scorer.id, missing, [&](json& body) -> Result<void> {
    const auto is_meant = [&](const json& version) { return version.at("version") == *asked; };
    const auto removed = std::erase_if(body["versions"].get_ref<json::array_t&>(), is_meant);
    return removed > 0 ? Result<void>() : fail(ErrorKind::NotFound, missing);
  }));
  return reply_empty();
}

}  // namespace

json& versions_of(Object& scorer) {
  return scorer.body["versions"];
}

Outcome<Object> load_scorer(const Call& call) {
  const auto project = KEDGE_TRY(load_active_experiment(call));
  const std::string experiment = std::to_string(project.id);
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  auto scorer = KEDGE_TRY(find_named_object(call, kScorerKind, experiment, name));
  if (!scorer || versions_of(*scorer).empty()) {
    return refuse(Code::ResourceDoesNotExist, scorer_not_found(experiment, name, std::nullopt));
  }
  return std::move(*scorer);
}

json* find_judge(json& scorer) {
  for (const char* group : {"instructions_judge_pydantic_data", "builtin_scorer_pydantic_data",
                            "third_party_scorer_data"}) {
    const auto found = scorer.find(group);
    if (found != scorer.end() && found->is_object() && found->contains("model") &&
        found->at("model").is_string()) {
      return &found->at("model");
    }
  }
  const auto memory = scorer.find("memory_augmented_judge_data");
  if (memory != scorer.end() && memory->is_object() && memory->contains("base_judge") &&
      memory->at("base_judge").is_object()) {
    return find_judge(memory->at("base_judge"));
  }
  return nullptr;
}

Outcome<std::string> render_scorer(const Call& call, const json& version) {
  auto text = version.at("serialized_scorer").get<std::string>();
  if (!version.contains("endpoint_id")) {
    return text;
  }
  const auto endpoint =
      KEDGE_TRY(find_object(call, kEndpointKind, version.at("endpoint_id").get<std::string>()));
  json scorer = KEDGE_TRY(parse_body(text));
  json* judge = find_judge(scorer);
  const json model = endpoint ? json(std::string(kGatewayPrefix) + endpoint->name) : json();
  if (judge == nullptr || *judge == model) {
    return text;
  }
  *judge = model;
  return server::dump(scorer);
}

void add_scorer_calls(Calls& calls) {
  write_v3(calls, Method::Post, "scorers/register", add_version);
  read_v3(calls, Method::Get, "scorers/list", list_scorers);
  read_v3(calls, Method::Get, "scorers/versions", list_versions);
  read_v3(calls, Method::Get, "scorers/get", get_scorer);
  write_v3(calls, Method::Delete, "scorers/delete", remove_scorer);
}

}  // namespace kedge::mlflow
