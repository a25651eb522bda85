// Which companies and models the gateway's forms offer. The table is our own and short: nothing is
// fetched, and whatever else people have defined on this server stands beside it.
#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/gateway.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;

struct KnownModel {
  std::string_view provider;
  std::string_view model;
  std::string_view mode;
};

// Families whose names outlive a season. A name that is not here can be given all the same.
constexpr auto kModels = std::to_array<KnownModel>({
    {"anthropic", "claude-opus-4-1", "chat"},
    {"anthropic", "claude-sonnet-4-5", "chat"},
    {"azure", "gpt-4o", "chat"},
    {"bedrock", "amazon.nova-pro-v1:0", "chat"},
    {"bedrock", "amazon.titan-embed-text-v2:0", "embedding"},
    {"cohere", "command-r-plus", "chat"},
    {"cohere", "embed-v4.0", "embedding"},
    {"deepseek", "deepseek-chat", "chat"},
    {"gemini", "gemini-2.5-flash", "chat"},
    {"gemini", "gemini-2.5-pro", "chat"},
    {"groq", "llama-3.3-70b-versatile", "chat"},
    {"mistral", "mistral-embed", "embedding"},
    {"mistral", "mistral-large-latest", "chat"},
    {"ollama", "llama3.3", "chat"},
    {"openai", "gpt-4o", "chat"},
    {"openai", "gpt-4o-mini", "chat"},
    {"openai", "text-embedding-3-small", "embedding"},
    {"vertex_ai", "gemini-2.5-pro", "chat"},
});

struct ModeField {
  std::string_view name;
  std::string_view description;
  bool is_secret = false;
  bool is_required = true;
};

struct AuthMode {
  std::string_view mode;
  std::string_view title;
  std::string_view description;
  std::span<const ModeField> fields;
};

constexpr ModeField kApiKey = {"api_key", "API key", true};
constexpr ModeField kRegion = {"aws_region_name", "AWS region", false, false};

constexpr auto kSimpleFields =
    std::to_array<ModeField>({kApiKey, {"api_base", "address of the API", false, false}});
constexpr auto kAzureFields = std::to_array<ModeField>(
    {kApiKey, {"api_base", "address of the resource"}, {"api_version", "version of the API"}});
constexpr auto kBedrockKeyFields = std::to_array<ModeField>({kApiKey, kRegion});
constexpr auto kAccessKeyFields =
    std::to_array<ModeField>({{"aws_access_key_id", "AWS access key id", true},
                              {"aws_secret_access_key", "AWS secret access key", true},
                              kRegion});
constexpr auto kRoleFields =
    std::to_array<ModeField>({{"aws_role_name", "ARN of the role to take on"}, kRegion});
constexpr auto kServiceAccountFields =
    std::to_array<ModeField>({{"vertex_credentials", "JSON key of the service account", true},
                              {"vertex_project", "project", false, false},
                              {"vertex_location", "location", false, false}});

// The first of each is the usual one.
constexpr auto kSimpleModes =
    std::to_array<AuthMode>({{"api_key", "API Key", "A key of the provider's", kSimpleFields}});
constexpr auto kAzureModes =
    std::to_array<AuthMode>({{"api_key", "API Key", "A key of the resource", kAzureFields}});
constexpr auto kBedrockModes = std::to_array<AuthMode>(
    {{"api_key", "API Key", "A Bedrock API key", kBedrockKeyFields},
     {"access_keys", "Access Keys", "A pair of AWS access keys", kAccessKeyFields},
     {"iam_role", "IAM Role", "A role that the caller's own credentials may take on",
      kRoleFields}});
constexpr auto kVertexModes = std::to_array<AuthMode>(
    {{"service_account", "Service Account", "A service account's key", kServiceAccountFields}});

std::span<const AuthMode> modes_of(std::string_view provider) {
  if (provider == "bedrock") {
    return kBedrockModes;
  }
  if (provider == "azure") {
    return kAzureModes;
  }
  return provider == "vertex_ai" ? std::span<const AuthMode>(kVertexModes) : kSimpleModes;
}

json render_mode(const AuthMode& mode) {
  json shown = {{"mode", mode.mode},
                {"display_name", mode.title},
                {"description", mode.description},
                {"secret_fields", json::array()},
                {"config_fields", json::array()}};
  for (const ModeField& field : mode.fields) {
    shown[field.is_secret ? "secret_fields" : "config_fields"].push_back(
        {{"name", field.name},
         {"type", "string"},
         {"description", field.description},
         {"required", field.is_required}});
  }
  return shown;
}

Outcome<Response> list_providers(const Call& call) {
  std::set<std::string> names;
  for (const KnownModel& model : kModels) {
    names.emplace(model.provider);
  }
  for (const store::Object& model : KEDGE_TRY(list_objects(call, kModelKind))) {
    names.insert(model.body.value("provider", ""));
  }
  return reply({{"providers", names}});
}

Outcome<Response> list_models(const Call& call) {
  const std::string provider = KEDGE_TRY(call.fields.text("provider"));
  json models = json::array();
  const auto add = [&](std::string_view of, std::string_view name, const json& mode) {
    json model = {{"model", name}, {"provider", of}, {"mode", mode}};
    const bool is_same = std::ranges::any_of(models, [&](const json& other) {
      return other["model"] == model["model"] && other["provider"] == model["provider"];
    });
    if (!is_same && (provider.empty() || provider == of)) {
      models.push_back(std::move(model));
    }
  };
  for (const KnownModel& model : kModels) {
    add(model.provider, model.model, model.mode);
  }
  for (const store::Object& model : KEDGE_TRY(list_objects(call, kModelKind))) {
    add(model.body.value("provider", ""), model.body.value("model_name", ""), json());
  }
  return reply({{"models", std::move(models)}});
}

Outcome<Response> get_provider(const Call& call) {
  const std::string provider = KEDGE_TRY(call.fields.need_text("provider"));
  json modes = json::array();
  for (const AuthMode& mode : modes_of(provider)) {
    modes.push_back(render_mode(mode));
  }
  return reply({{"default_mode", modes[0]["mode"]}, {"auth_modes", modes}});
}

}  // namespace

void add_gateway_provider_calls(Calls& calls) {
  read_gateway(calls, Method::Get, "supported-providers", list_providers);
  read_gateway(calls, Method::Get, "supported-models", list_models);
  read_gateway(calls, Method::Get, "provider-config", get_provider);
}

}  // namespace kedge::mlflow
