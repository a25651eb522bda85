#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/gateway.h"
#include "server/sealed_text.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;
using store::Object;

// The same variable as MLflow's own server has. There it has a default that everybody knows.
constexpr const char* kPassphrase = "MLFLOW_CRYPTO_KEK_PASSPHRASE";
// A text that opens with the passphrase of all secrets.
constexpr std::string_view kCheckKind = "mlflow.gateway.check";
constexpr std::size_t kShortest = 8;  // of values of which a part is shown

std::string find_passphrase() {
  const char* value = std::getenv(kPassphrase);
  return value == nullptr ? "" : value;
}

// Secrets of two passphrases in one store would be found out when it is too late.
Outcome<void> check_passphrase(const Call& call, const std::string& passphrase) {
  if (const auto check = KEDGE_TRY(find_object(call, kCheckKind, ""))) {
    if (!server::open_text(check->body.at("sealed").get<std::string>(), passphrase, kCheckKind)) {
      return refuse(Code::InvalidState,
                    fmt::format("{} is not the passphrase that the secrets here were sealed with",
                                kPassphrase));
    }
    return {};
  }
  const std::string sealed = KEDGE_TRY(server::seal_text("kedge", passphrase, kCheckKind));
  KEDGE_TRY(put_object(call, {.kind = std::string(kCheckKind), .body = {{"sealed", sealed}}}));
  return {};
}

Outcome<std::string> need_passphrase(const Call& call) {
  std::string passphrase = find_passphrase();
  if (passphrase.empty()) {
    return refuse(Code::InvalidState,
                  fmt::format("This server keeps no secrets: it was started without {}, the "
                              "passphrase that they are sealed with",
                              kPassphrase));
  }
  KEDGE_TRY(check_passphrase(call, passphrase));
  return passphrase;
}

std::string mask(const std::string& value) {
  return value.size() < kShortest ? "***"
                                  : value.substr(0, 3) + "..." + value.substr(value.size() - 4);
}

// An object of texts; nothing where the field is not there.
Outcome<std::optional<json>> read_map(const Call& call, std::string_view name) {
  const auto fields = KEDGE_TRY(call.fields.find_object(name));
  if (!fields) {
    return std::nullopt;
  }
  for (const auto& [key, value] : fields->object().items()) {
    if (!value.is_string()) {
      return refuse(
          fmt::format("Invalid value for parameter '{}' supplied: each must be a text", name));
    }
  }
  return fields->object();
}

// Values as they are kept, and what is shown of them.
struct Sealed {
  std::string text;
  json masked = json::object();
};

Outcome<Sealed> seal_values(const Call& call, const json& values, const std::string& id) {
  const std::string passphrase = KEDGE_TRY(need_passphrase(call));
  Sealed sealed{.text = KEDGE_TRY(server::seal_text(server::dump(values), passphrase, id))};
  for (const auto& [key, value] : values.items()) {
    sealed.masked[key] = mask(value.get<std::string>());
  }
  return sealed;
}

void set_values(const Sealed& sealed, json& body) {
  body["sealed"] = sealed.text;
  body["shown"]["masked_values"] = sealed.masked;
}

// An empty one takes it away.
void set_auth(const std::optional<json>& auth, json& body) {
  if (!auth) {
    return;
  }
  body["shown"].erase("auth_config");
  if (!auth->empty()) {
    body["shown"]["auth_config"] = *auth;
  }
}

Outcome<Response> create_secret(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("secret_name"));
  const auto values = KEDGE_TRY(read_map(call, "secret_value"));
  if (!values || values->empty()) {
    return std::unexpected(missing("secret_value"));
  }
  Object secret{.kind = std::string(kSecretKind),
                .id = "s-" + make_id(),
                .name = name,
                .created_us = call.api.now_us()};
  json shown = KEDGE_TRY(creation_facts(call));
  shown["secret_id"] = secret.id;
  shown["secret_name"] = name;
  if (const std::string provider = KEDGE_TRY(call.fields.text("provider")); !provider.empty()) {
    shown["provider"] = provider;
  }
  secret.body["shown"] = std::move(shown);
  set_auth(KEDGE_TRY(read_map(call, "auth_config")), secret.body);
  set_values(KEDGE_TRY(seal_values(call, *values, secret.id)), secret.body);
  KEDGE_TRY(put_named(call, kSecretKey, secret));
  return reply({{"secret", secret.body["shown"]}});
}

Outcome<Response> get_secret(const Call& call) {
  return reply({{"secret", KEDGE_TRY(load_gateway(call, kSecretKey)).body["shown"]}});
}

Outcome<Response> update_secret(const Call& call) {
  const std::string id =
      KEDGE_TRY(load_gateway(call, kSecretKey, KEDGE_TRY(call.fields.need_text("secret_id")))).id;
  std::optional<Sealed> sealed;
  if (const auto values = KEDGE_TRY(read_map(call, "secret_value")); values && !values->empty()) {
    sealed = KEDGE_TRY(seal_values(call, *values, id));
  }
  const auto auth = KEDGE_TRY(read_map(call, "auth_config"));
  json facts = json::object();
  KEDGE_TRY(mark_updated(call, facts));
  Object secret = KEDGE_TRY(edit_object(call, kSecretKind, id, "GatewaySecret not found",
                                        [&](json& body) -> Result<void> {
                                          if (sealed) {
                                            set_values(*sealed, body);
                                          }
                                          set_auth(auth, body);
                                          body["shown"].update(facts);
                                          return {};
                                        }));
  return reply({{"secret", secret.body["shown"]}});
}

Outcome<Response> remove_secret(const Call& call) {
  const Object secret =
      KEDGE_TRY(load_gateway(call, kSecretKey, KEDGE_TRY(call.fields.need_text("secret_id"))));
  KEDGE_TRY(remove_object(call, kSecretKind, secret.id));
  return reply_empty();
}

Outcome<Response> list_secrets(const Call& call) {
  const std::string provider = KEDGE_TRY(call.fields.text("provider"));
  json body = json::object();
  for (Object& secret : KEDGE_TRY(list_objects(call, kSecretKind))) {
    json& shown = secret.body["shown"];
    if (provider.empty() || shown.value("provider", "") == provider) {
      body["secrets"].push_back(std::move(shown));
    }
  }
  return reply(body);
}

Outcome<Response> config(const Call& /*call*/) {
  return reply(
      {{"secrets_available", !find_passphrase().empty()}, {"using_default_passphrase", false}});
}

}  // namespace

void add_gateway_secret_calls(Calls& calls) {
  write_gateway(calls, Method::Post, "secrets/create", create_secret);
  write_gateway(calls, Method::Get, "secrets/get", get_secret);
  write_gateway(calls, Method::Post, "secrets/update", update_secret);
  write_gateway(calls, Method::Delete, "secrets/delete", remove_secret);
  write_gateway(calls, Method::Get, "secrets/list", list_secrets);
  read_gateway(calls, Method::Get, "secrets/config", config);
}

}  // namespace kedge::mlflow
