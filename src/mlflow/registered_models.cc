#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/listed.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/registry.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;
using store::RegisteredModel;

constexpr std::int64_t kUsualRegisteredModels = 100;
constexpr std::int64_t kMostRegisteredModels = 1000;

Outcome<Response> reply_registered_model(const Call& call, const std::string& name) {
  return reply({{"registered_model",
                 render_registered_model(KEDGE_TRY(load_registered_model(call, name)))}});
}

Fault taken(const std::string& name) {
  return {Code::ResourceAlreadyExists,
          fmt::format("Registered Model (name={}) already exists.", name)};
}

Outcome<Response> create_registered_model(const Call& call) {
  RegisteredModel model;
  model.name = KEDGE_TRY(call.fields.need_text("name"));
  KEDGE_TRY(check_model_name(model.name));
  const KeyValues tags = KEDGE_TRY(call.fields.key_values("tags"));
  KEDGE_TRY(check_registry_tags(tags));
  model.tags = {tags.begin(), tags.end()};
  model.description = KEDGE_TRY(call.fields.text("description"));
  if (call.api.models.find(model.name)) {
    return std::unexpected(taken(model.name));
  }
  KEDGE_TRY(call.api.models.create(model, call.api.now_us()));
  return reply_registered_model(call, model.name);
}

Outcome<Response> get_registered_model(const Call& call) {
  return reply_registered_model(call, KEDGE_TRY(call.fields.need_text("name")));
}

Outcome<Response> update_registered_model(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  KEDGE_TRY(load_registered_model(call, name));
  KEDGE_TRY(call.api.models.patch(
      name, {.description = KEDGE_TRY(call.fields.find_text("description"))}, call.api.now_us()));
  return reply_registered_model(call, name);
}

Outcome<Response> rename(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string to = KEDGE_TRY(call.fields.need_text("new_name"));
  KEDGE_TRY(check_model_name(to));
  KEDGE_TRY(load_registered_model(call, name));
  if (to != name && call.api.models.find(to)) {
    return std::unexpected(taken(to));
  }
  if (to != name) {
    KEDGE_TRY(call.api.models.rename(name, to, call.api.now_us()));
  }
  return reply_registered_model(call, to);
}

Outcome<Response> remove_registered_model(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  KEDGE_TRY(load_registered_model(call, name));
  KEDGE_TRY(call.api.models.remove(name));
  call.api.audit(call.request, "model.delete", name);
  return reply_empty();
}

Outcome<Response> set_registered_model_tag(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(check_registry_tags({{key, value}}));
  KEDGE_TRY(load_registered_model(call, name));
  KEDGE_TRY(call.api.models.patch(name, {.tags = {{key, value}}}, call.api.now_us()));
  return reply_empty();
}

Outcome<Response> delete_registered_model_tag(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  KEDGE_TRY(load_registered_model(call, name));
  KEDGE_TRY(call.api.models.patch(name, {.removed_tags = {key}}, call.api.now_us()));
  return reply_empty();
}

Outcome<Response> set_alias(const Call& call) {
  const std::string alias = KEDGE_TRY(call.fields.need_text("alias"));
  KEDGE_TRY(check_alias(alias));
  const store::ModelVersion version = KEDGE_TRY(load_version(call));
  KEDGE_TRY(call.api.models.set_alias(version.model, alias, version.version));
  return reply_empty();
}

Outcome<Response> delete_alias(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string alias = KEDGE_TRY(call.fields.need_text("alias"));
  KEDGE_TRY(load_registered_model(call, name));
  KEDGE_TRY(call.api.models.remove_alias(name, alias));
  return reply_empty();
}

Outcome<Response> get_by_alias(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  const std::string alias = KEDGE_TRY(call.fields.need_text("alias"));
  const RegisteredModel model = KEDGE_TRY(load_registered_model(call, name));
  const auto found = model.aliases.find(alias);
  const bool is_latest = alias == "latest" && !model.versions.empty();
  if (found == model.aliases.end() && !is_latest) {
    return refuse(fmt::format("Registered model alias {} not found.", alias));
  }
  const std::int64_t version = is_latest ? model.versions.front().version : found->second;
  return reply({{"model_version", render_version(KEDGE_TRY(load_version(call, name, version)))}});
}

Outcome<Response> get_latest(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("name"));
  std::vector<std::string> stages;
  for (const std::string& text : KEDGE_TRY(call.fields.texts("stages"))) {
    stages.push_back(KEDGE_TRY(read_stage(text)));
  }
  const RegisteredModel model = KEDGE_TRY(load_registered_model(call, name));
  nlohmann::json body = nlohmann::json::object();
  for (const store::ModelVersion& version : latest_versions(model, stages)) {
    body["model_versions"].push_back(render_version(version));
  }
  return reply(body);
}

Listed model_value(const RegisteredModel& model, Entity entity, const std::string& key) {
  if (entity == Entity::Tag) {
    return text_in(model.tags, key);
  }
  return key == "name"                 ? Listed(model.name)
         : key == "creation_timestamp" ? time_of(model.created_us)
                                       : time_of(model.changed_us);
}

Outcome<Response> search_registered_models(const Call& call) {
  const Page page =
      KEDGE_TRY(read_page(call.fields, kUsualRegisteredModels, kMostRegisteredModels));
  auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter")), kRegisteredModelLanguage));
  const Prompts prompts = take_prompt_clause(clauses);
  std::vector<OrderTerm> order;
  for (const std::string& text : KEDGE_TRY(call.fields.texts("order_by"))) {
    order.push_back(KEDGE_TRY(parse_order(text, kRegisteredModelLanguage)));
  }
  std::vector<RegisteredModel> models = KEDGE_TRY(call.api.models.list());
  std::erase_if(models, [&](const RegisteredModel& model) {
    return is_prompt(model.tags) != (prompts == Prompts::Only) ||
           !passes_all(clauses, model, model_value);
  });
  order.push_back({.key = "name"});
  sort_by(models, order, model_value);
  nlohmann::json body = nlohmann::json::object();
  add_page(body, "registered_models", page, models.size(),
           [&](std::size_t i) { return render_registered_model(models[i]); });
  return reply(body);
}

}  // namespace

void add_registered_model_calls(Calls& calls) {
  calls.write(Method::Post, "registered-models/create", create_registered_model);
  calls.read(Method::Get, "registered-models/get", get_registered_model);
  calls.write(Method::Patch, "registered-models/update", update_registered_model);
  calls.write(Method::Post, "registered-models/rename", rename);
  calls.write(Method::Delete, "registered-models/delete", remove_registered_model);
  calls.read(Method::Get, "registered-models/search", search_registered_models);
  calls.read(Method::Get, "registered-models/get-latest-versions", get_latest);
  calls.read(Method::Post, "registered-models/get-latest-versions", get_latest);
  calls.write(Method::Post, "registered-models/set-tag", set_registered_model_tag);
  calls.write(Method::Delete, "registered-models/delete-tag", delete_registered_model_tag);
  calls.write(Method::Post, "registered-models/alias", set_alias);
  calls.write(Method::Delete, "registered-models/alias", delete_alias);
  calls.read(Method::Get, "registered-models/alias", get_by_alias);
}

}  // namespace kedge::mlflow
