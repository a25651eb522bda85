#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/gateway.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Database;
using store::Object;
using store::Objects;

Outcome<Object> load_model(const Call& call) {
  return load_gateway(call, kModelKey, KEDGE_TRY(call.fields.need_text("model_definition_id")));
}

Outcome<Response> reply_model_definition(const Call& call, const Object& model) {
  return reply({{"model_definition", KEDGE_TRY(render_model(call, model))}});
}

Outcome<Response> create_model_definition(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string secret = KEDGE_TRY(call.fields.need_text("secret_id"));
  const std::string provider = KEDGE_TRY(call.fields.need_text("provider"));
  const std::string model_name = KEDGE_TRY(call.fields.need_text("model_name"));
  KEDGE_TRY(load_gateway(call, kSecretKey, secret));
  Object model{.kind = std::string(kModelKind),
               .id = "d-" + make_id(),
               .name = name,
               .created_us = call.api.now_us(),
               .body = KEDGE_TRY(creation_facts(call))};
  model.body.update({{"model_definition_id", model.id},
                     {"name", name},
                     {"secret_id", secret},
                     {"provider", provider},
                     {"model_name", model_name}});
  KEDGE_TRY(put_named(call, kModelKey, model));
  return reply_model_definition(call, model);
}

Outcome<Response> get_model_definition(const Call& call) {
  return reply_model_definition(call, KEDGE_TRY(load_gateway(call, kModelKey)));
}

Outcome<Response> list_model_definitions(const Call& call) {
  const std::string provider = KEDGE_TRY(call.fields.text("provider"));
  const std::string secret = KEDGE_TRY(call.fields.text("secret_id"));
  json body = json::object();
  for (const Object& model : KEDGE_TRY(list_objects(call, kModelKind))) {
    json shown = KEDGE_TRY(render_model(call, model));
    if ((provider.empty() || shown.value("provider", "") == provider) &&
        (secret.empty() || shown.value("secret_id", "") == secret)) {
      body["model_definitions"].push_back(std::move(shown));
    }
  }
  return reply(body);
}

Outcome<Response> update_model_definition(const Call& call) {
  const std::string id = KEDGE_TRY(load_model(call)).id;
  json changes = json::object();
  for (const char* field : {"name", "secret_id", "provider", "model_name"}) {
    if (const std::string text = KEDGE_TRY(call.fields.text(field)); !text.empty()) {
      changes[field] = text;
    }
  }
  if (changes.contains("secret_id")) {
    KEDGE_TRY(load_gateway(call, kSecretKey, changes["secret_id"].get<std::string>()));
  }
  return reply_model_definition(call,
                                KEDGE_TRY(update_named(call, kModelKey, id, std::move(changes))));
}

bool uses(const Object& endpoint, const std::string& model) {
  return std::ranges::any_of(endpoint.body.at("model_mappings"), [&](const json& mapping) {
    return mapping.at("model_definition_id") == model;
  });
}

Outcome<Response> remove_model_definition(const Call& call) {
  const std::string id = KEDGE_TRY(load_model(call)).id;
  bool is_used = false;
  KEDGE_TRY(call.api.store.change([&](Database& database) -> Result<void> {
    Objects objects(database);
    const auto endpoints = KEDGE_TRY(objects.list(kEndpointKind));
    is_used =
        std::ranges::any_of(endpoints, [&](const Object& endpoint) { return uses(endpoint, id); });
    return is_used ? Result<void>() : objects.remove(kModelKind, id);
  }));
  if (is_used) {
    return refuse(Code::InvalidState,
                  "Cannot delete model definition that is currently in use by endpoints. Detach it "
                  "from all endpoints first.");
  }
  return reply_empty();
}

}  // namespace

Outcome<json> render_model(const Call& call, const Object& model) {
  json shown = model.body;
  if (const auto secret =
          KEDGE_TRY(find_object(call, kSecretKind, shown["secret_id"].get<std::string>()))) {
    shown["secret_name"] = secret->name;
  } else {
    shown.erase("secret_id");
  }
  return shown;
}

void add_gateway_model_calls(Calls& calls) {
  write_gateway(calls, Method::Post, "model-definitions/create", create_model_definition);
  read_gateway(calls, Method::Get, "model-definitions/get", get_model_definition);
  read_gateway(calls, Method::Get, "model-definitions/list", list_model_definitions);
  write_gateway(calls, Method::Post, "model-definitions/update", update_model_definition);
  write_gateway(calls, Method::Delete, "model-definitions/delete", remove_model_definition);
}

}  // namespace kedge::mlflow
