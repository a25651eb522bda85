// The records of MLflow's gateway: credentials for models of others, which models there are, and
// endpoints that name them. They are kept and shown; kedge forwards no request to a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/objects.h"

namespace kedge::mlflow {

inline constexpr std::string_view kSecretKind = "mlflow.gateway.secret";
inline constexpr std::string_view kModelKind = "mlflow.gateway.model";
inline constexpr std::string_view kEndpointKind = "mlflow.gateway.endpoint";
inline constexpr std::string_view kBindingKind = "mlflow.gateway.binding";  // parent: an endpoint

// `path` is below gateway/. Nothing of it belongs to a project.
void read_gateway(Calls& calls, server::Method method, std::string_view path, CallHandler handler);
void write_gateway(Calls& calls, server::Method method, std::string_view path, CallHandler handler);

// What `id_field` or `name_field` asks for; one of both is needed. `what` stands in messages:
// "GatewaySecret".
struct GatewayKey {
  std::string_view kind;
  std::string_view id_field;
  std::string_view name_field;
  std::string_view what;
  std::string_view title;  // "Secret"
};

Outcome<store::Object> load_gateway(const Call& call, const GatewayKey& key);
Outcome<store::Object> load_gateway(const Call& call, const GatewayKey& key, const std::string& id);
Outcome<store::Object> load_named_gateway(const Call& call, const GatewayKey& key,
                                          const std::string& name);

// Puts an object whose name no other one of its kind has. RESOURCE_ALREADY_EXISTS otherwise.
Outcome<void> put_named(const Call& call, const GatewayKey& key, const store::Object& object);

// Other values for parts of a body, in one change; its "name" is the object's, and no other's.
Outcome<store::Object> update_named(const Call& call, const GatewayKey& key, const std::string& id,
                                    nlohmann::json changes);

// created_at, last_updated_at and, where the caller said who it is, created_by and
// last_updated_by.
Outcome<nlohmann::json> creation_facts(const Call& call);
Outcome<void> mark_updated(const Call& call, nlohmann::json& body);

inline constexpr GatewayKey kSecretKey = {kSecretKind, "secret_id", "secret_name", "GatewaySecret",
                                          "Secret"};
inline constexpr GatewayKey kModelKey = {kModelKind, "model_definition_id", "name",
                                         "GatewayModelDefinition", "Model definition"};
inline constexpr GatewayKey kEndpointKey = {kEndpointKind, "endpoint_id", "name", "GatewayEndpoint",
                                            "Endpoint"};

// A model definition with the name of its secret; without both when the secret is gone.
Outcome<nlohmann::json> render_model(const Call& call, const store::Object& model);

void add_gateway_secret_calls(Calls& calls);
void add_gateway_model_calls(Calls& calls);
void add_gateway_endpoint_calls(Calls& calls);
void add_gateway_provider_calls(Calls& calls);

}  // namespace kedge::mlflow
