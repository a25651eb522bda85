#include <algorithm>
#include <array>
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

constexpr auto kLinkages = std::to_array<EnumName>({{"PRIMARY", 1}, {"FALLBACK", 2}});
constexpr auto kRoutings = std::to_array<EnumName>({{"REQUEST_BASED_TRAFFIC_SPLIT", 1}});
constexpr auto kFallbacks = std::to_array<EnumName>({{"SEQUENTIAL", 1}});

// The name of an enum's value; empty where the field is not there.
template <std::size_t N>
Outcome<std::string> read_name(const Fields& fields, const char* field,
                               const std::array<EnumName, N>& names) {
  const int number = KEDGE_TRY(fields.enumerated(field, names, 0));
  const auto found = std::ranges::find(names, number, &EnumName::number);
  return found == names.end() ? std::string() : std::string(found->name);
}

Outcome<json> read_mapping(const Call& call, const Fields& config, const std::string& endpoint) {
  const std::string model = KEDGE_TRY(config.need_text("model_definition_id"));
  KEDGE_TRY(load_gateway(call, kModelKey, model));
  const std::string linkage = KEDGE_TRY(read_name(config, "linkage_type", kLinkages));
  if (linkage.empty()) {
    return std::unexpected(missing(config.path_of("linkage_type")));
  }
  json mapping = {{"mapping_id", "m-" + make_id()},
                  {"endpoint_id", endpoint},
                  {"model_definition_id", model},
                  {"linkage_type", linkage},
                  {"weight", config.has("weight") ? KEDGE_TRY(config.need_number("weight")) : 1.0},
                  {"created_at", to_ms(call.api.now_us())}};
  if (const auto order = KEDGE_TRY(config.find_integer("fallback_order"))) {
    mapping["fallback_order"] = *order;
  }
  return mapping;
}

Outcome<json> read_mappings(const Call& call, const std::string& endpoint) {
  json mappings = json::array();
  for (const Fields& config : KEDGE_TRY(call.fields.items("model_configs"))) {
    mappings.push_back(KEDGE_TRY(read_mapping(call, config, endpoint)));
  }
  return mappings;
}

// Letters, digits, '_', '-' and '.': it is part of addresses.
Outcome<void> check_name(const std::string& name) {
  const auto is_fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (name.empty() || !std::ranges::all_of(name, is_fine)) {
    return refuse(
        fmt::format("Invalid endpoint name '{}'. Name can only contain letters, numbers, "
                    "underscores, hyphens, and dots.",
                    name));
  }
  return {};
}

// The experiment that an endpoint's traces belong to, made where it is not there.
Outcome<std::string> need_experiment(const Call& call, const Object& endpoint) {
  const std::string name = "gateway/" + endpoint.name;
  if (const auto known = find_experiment(call, name)) {
    return std::to_string(known->id);
  }
  store::ProjectDraft draft;
  draft.name = name;
  draft.labels = {{"mlflow.experiment.sourceType", "GATEWAY"},
                  {"mlflow.experiment.sourceId", endpoint.id},
                  {"mlflow.experiment.isGateway", "true"}};
  return std::to_string(KEDGE_TRY(call.api.store.create_project(draft, call.api.now_us())).id);
}

// What both create and update may give besides the models, for an endpoint as it is.
Outcome<json> read_facts(const Call& call, const Object& endpoint) {
  json facts = json::object();
  if (const auto text = KEDGE_TRY(read_name(call.fields, "routing_strategy", kRoutings));
      !text.empty()) {
    facts["routing_strategy"] = text;
  }
  if (const auto fallback = KEDGE_TRY(call.fields.find_object("fallback_config"))) {
    facts["fallback_config"] = json::object();
    if (const auto text = KEDGE_TRY(read_name(*fallback, "strategy", kFallbacks)); !text.empty()) {
      facts["fallback_config"]["strategy"] = text;
    }
    if (const auto most = KEDGE_TRY(fallback->find_integer("max_attempts"))) {
      facts["fallback_config"]["max_attempts"] = *most;
    }
  }
  const bool is_tracked =
      KEDGE_TRY(call.fields.boolean("usage_tracking", endpoint.body.value("usage_tracking", true)));
  facts["usage_tracking"] = is_tracked;
  if (const std::string id = KEDGE_TRY(call.fields.text("experiment_id")); !id.empty()) {
    KEDGE_TRY(load_experiment(call, id));
    facts["experiment_id"] = id;
  } else if (is_tracked && !endpoint.body.contains("experiment_id")) {
    facts["experiment_id"] = KEDGE_TRY(need_experiment(call, endpoint));
  }
  return facts;
}

Outcome<json> render_mapping(const Call& call, json mapping) {
  const auto model =
      find_object(call, kModelKind, mapping.at("model_definition_id").get<std::string>());
  if (KEDGE_TRY(model)) {
    mapping["model_definition"] = KEDGE_TRY(render_model(call, **model));
  }
  return mapping;
}

Outcome<json> render_endpoint(const Call& call, const Object& endpoint) {
  json shown = endpoint.body;
  for (json& mapping : shown["model_mappings"]) {
    mapping = KEDGE_TRY(render_mapping(call, std::move(mapping)));
  }
  json tags = json::array();
  for (const auto& [key, value] : endpoint.body.at("tags").items()) {
    tags.push_back({{"key", key}, {"value", value}});
  }
  shown["tags"] = std::move(tags);
  return shown;
}

Outcome<Response> reply_endpoint(const Call& call, const Object& endpoint) {
  return reply({{"endpoint", KEDGE_TRY(render_endpoint(call, endpoint))}});
}

Outcome<Object> load_endpoint(const Call& call) {
  return load_gateway(call, kEndpointKey, KEDGE_TRY(call.fields.need_text("endpoint_id")));
}

Outcome<Response> create_endpoint(const Call& call) {
  Object endpoint{.kind = std::string(kEndpointKind),
                  .id = "e-" + make_id(),
                  .name = KEDGE_TRY(call.fields.need_text("name")),
                  .created_us = call.api.now_us(),
                  .body = KEDGE_TRY(creation_facts(call))};
  KEDGE_TRY(check_name(endpoint.name));
  json mappings = KEDGE_TRY(read_mappings(call, endpoint.id));
  if (mappings.empty()) {
    return refuse("Endpoint must have at least one model configuration");
  }
  endpoint.body.update({{"endpoint_id", endpoint.id},
                        {"name", endpoint.name},
                        {"model_mappings", std::move(mappings)},
                        {"tags", json::object()}});
  endpoint.body.update(KEDGE_TRY(read_facts(call, endpoint)));
  KEDGE_TRY(put_named(call, kEndpointKey, endpoint));
  return reply_endpoint(call, endpoint);
}

Outcome<Response> get_endpoint(const Call& call) {
  return reply_endpoint(call, KEDGE_TRY(load_gateway(call, kEndpointKey)));
}

Outcome<Response> update_endpoint(const Call& call) {
  Object endpoint = KEDGE_TRY(load_endpoint(call));
  if (const std::string name = KEDGE_TRY(call.fields.text("name")); !name.empty()) {
    KEDGE_TRY(check_name(name));
    endpoint.name = name;
  }
  json changes = KEDGE_TRY(read_facts(call, endpoint));
  changes["name"] = endpoint.name;
  if (json mappings = KEDGE_TRY(read_mappings(call, endpoint.id)); !mappings.empty()) {
    changes["model_mappings"] = std::move(mappings);
  }
  return reply_endpoint(
      call, KEDGE_TRY(update_named(call, kEndpointKey, endpoint.id, std::move(changes))));
}

Outcome<Response> remove_endpoint(const Call& call) {
  const std::string id = KEDGE_TRY(load_endpoint(call)).id;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    Objects objects(database);
    KEDGE_TRY(objects.remove_all(kBindingKind, id));
    return objects.remove(kEndpointKind, id);
  }));
  return reply_empty();
}

Outcome<Response> list_endpoints(const Call& call) {
  const std::string provider = KEDGE_TRY(call.fields.text("provider"));
  const std::string secret = KEDGE_TRY(call.fields.text("secret_id"));
  const auto is_meant = [&](const json& mapping) {
    const json model = mapping.value("model_definition", json::object());
    return (provider.empty() || model.value("provider", "") == provider) &&
           (secret.empty() || model.value("secret_id", "") == secret);
  };
  json body = json::object();
  for (const Object& endpoint : KEDGE_TRY(list_objects(call, kEndpointKind))) {
    json shown = KEDGE_TRY(render_endpoint(call, endpoint));
    if (std::ranges::any_of(shown["model_mappings"], is_meant)) {
      body["endpoints"].push_back(std::move(shown));
    }
  }
  return reply(body);
}

// An edit of the endpoint that the call names.
Outcome<Object> edit_endpoint(const Call& call,
                              const std::function<Result<void>(json& body)>& change) {
  const std::string id = KEDGE_TRY(load_endpoint(call)).id;
  return KEDGE_TRY(edit_object(call, kEndpointKind, id, "GatewayEndpoint not found", change));
}

Outcome<Response> attach(const Call& call) {
  const auto config = KEDGE_TRY(call.fields.find_object("model_config"));
  if (!config) {
    return std::unexpected(missing("model_config"));
  }
  const std::string id = KEDGE_TRY(call.fields.need_text("endpoint_id"));
  const json mapping = KEDGE_TRY(read_mapping(call, *config, id));
  const auto is_same = [&](const json& other) {
    return other.at("model_definition_id") == mapping.at("model_definition_id");
  };
  bool is_there = false;
  KEDGE_TRY(edit_endpoint(call, [&](json& body) -> Result<void> {
    is_there = std::ranges::any_of(body["model_mappings"], is_same);
    if (!is_there) {
      body["model_mappings"].push_back(mapping);
    }
    return {};
  }));
  if (is_there) {
    return refuse(Code::ResourceAlreadyExists, "The model definition is attached already");
  }
  return reply({{"mapping", KEDGE_TRY(render_mapping(call, mapping))}});
}

Outcome<Response> detach(const Call& call) {
  const std::string model = KEDGE_TRY(call.fields.need_text("model_definition_id"));
  KEDGE_TRY(edit_endpoint(call, [&](json& body) -> Result<void> {
    const auto removed = std::erase_if(
        body["model_mappings"].get_ref<json::array_t&>(),
        [&](const json& mapping) { return mapping.at("model_definition_id") == model; });
    return removed > 0
               ? Result<void>()
               : fail(ErrorKind::NotFound,
                      fmt::format("Model definition '{}' is not attached to the endpoint", model));
  }));
  return reply_empty();
}

Outcome<Response> set_endpoint_tag(const Call& call) {
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(edit_endpoint(call, [&](json& body) -> Result<void> {
    body["tags"][key] = value;
    return {};
  }));
  return reply_empty();
}

Outcome<Response> delete_endpoint_tag(const Call& call) {
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  KEDGE_TRY(edit_endpoint(call, [&](json& body) -> Result<void> {
    body["tags"].erase(key);
    return {};
  }));
  return reply_empty();
}

// Who uses an endpoint, as its clients say it.
Outcome<Object> read_binding(const Call& call) {
  Object binding{.kind = std::string(kBindingKind),
                 .parent = KEDGE_TRY(load_endpoint(call)).id,
                 .created_us = call.api.now_us(),
                 .body = KEDGE_TRY(creation_facts(call))};
  const std::string type = KEDGE_TRY(call.fields.need_text("resource_type"));
  const std::string resource = KEDGE_TRY(call.fields.need_text("resource_id"));
  binding.id = json({binding.parent, type, resource}).dump();
  binding.body.update(
      {{"endpoint_id", binding.parent}, {"resource_type", type}, {"resource_id", resource}});
  return binding;
}

Outcome<Response> bind(const Call& call) {
  const Object binding = KEDGE_TRY(read_binding(call));
  KEDGE_TRY(put_object(call, binding));
  return reply({{"binding", binding.body}});
}

Outcome<Response> unbind(const Call& call) {
  const Object binding = KEDGE_TRY(read_binding(call));
  if (!KEDGE_TRY(find_object(call, kBindingKind, binding.id))) {
    return refuse(Code::ResourceDoesNotExist, "GatewayEndpointBinding not found");
  }
  KEDGE_TRY(remove_object(call, kBindingKind, binding.id));
  return reply_empty();
}

Outcome<Response> list_bindings(const Call& call) {
  std::vector<std::pair<const char*, std::string>> asked;
  for (const char* field : {"endpoint_id", "resource_type", "resource_id"}) {
    if (std::string text = KEDGE_TRY(call.fields.text(field)); !text.empty()) {
      asked.emplace_back(field, std::move(text));
    }
  }
  json body = json::object();
  for (Object& binding : KEDGE_TRY(list_objects(call, kBindingKind))) {
    const auto is_so = [&](const auto& each) { return binding.body.at(each.first) == each.second; };
    if (std::ranges::all_of(asked, is_so)) {
      body["bindings"].push_back(std::move(binding.body));
    }
  }
  return reply(body);
}

}  // namespace

void add_gateway_endpoint_calls(Calls& calls) {
  write_gateway(calls, Method::Post, "endpoints/create", create_endpoint);
  read_gateway(calls, Method::Get, "endpoints/get", get_endpoint);
  write_gateway(calls, Method::Post, "endpoints/update", update_endpoint);
  write_gateway(calls, Method::Delete, "endpoints/delete", remove_endpoint);
  read_gateway(calls, Method::Get, "endpoints/list", list_endpoints);
  write_gateway(calls, Method::Post, "endpoints/models/attach", attach);
  write_gateway(calls, Method::Post, "endpoints/models/detach", detach);
  write_gateway(calls, Method::Post, "endpoints/set-tag", set_endpoint_tag);
  write_gateway(calls, Method::Delete, "endpoints/delete-tag", delete_endpoint_tag);
  write_gateway(calls, Method::Post, "endpoints/bindings/create", bind);
  write_gateway(calls, Method::Delete, "endpoints/bindings/delete", unbind);
  read_gateway(calls, Method::Get, "endpoints/bindings/list", list_bindings);
}

}  // namespace kedge::mlflow
