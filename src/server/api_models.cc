#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

// "artifact:project/name:v3" for the page; anything else is only a text.
nlohmann::json render_source(const std::string& source) {
  constexpr std::string_view kArtifact = "artifact:";
  const auto slash = source.find('/');
  const auto colon = source.rfind(':');
  if (!source.starts_with(kArtifact) || slash == std::string::npos || colon < slash) {
    return nullptr;
  }
  return {{"project", source.substr(kArtifact.size(), slash - kArtifact.size())},
          {"artifact", source.substr(slash + 1, colon - slash - 1)},
          {"version", source.substr(colon + 1)}};
}

nlohmann::json render_model_version(const store::ModelVersion& version) {
  return {{"version", version.version},
          {"stage", version.stage},
          {"aliases", version.aliases},
          {"source", render_source(version.source)},
          {"source_uri", version.source},
          {"run_id", version.run_id},
          {"description", version.description},
          {"tags", version.tags},
          {"user", version.user},
          {"created_us", version.created_us},
          {"changed_us", version.changed_us}};
}

nlohmann::json render_model(const store::RegisteredModel& model) {
  nlohmann::json versions = nlohmann::json::array();
  for (const store::ModelVersion& version : model.versions) {
    versions.push_back(render_model_version(version));
  }
  return {{"name", model.name},
          {"description", model.description},
          {"tags", model.tags},
          {"aliases", model.aliases},
          {"created_us", model.created_us},
          {"changed_us", model.changed_us},
          {"versions", std::move(versions)}};
}

std::string version_name(const std::string& model, std::int64_t version) {
  return fmt::format("{}:v{}", model, version);
}

using Tags = std::map<std::string, std::string>;

// Those to set, and those to remove.
std::pair<Tags, std::vector<std::string>> tags_of(const Input& input) {
  std::pair<Tags, std::vector<std::string>> tags;
  const Input sent = input.value("tags", Input::object());
  for (const auto& [name, value] : sent.items()) {
    if (value.is_null()) {
      tags.second.push_back(name);
    } else {
      tags.first[name] = value.get<std::string>();
    }
  }
  return tags;
}

Result<std::int64_t> version_of(const http::Request& request) {
  std::string_view text = request.parameter("version");
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  std::int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorKind::Usage, fmt::format("a version is a number, not '{}'", text));
  }
  return version;
}

Result<http::Response> list_models(const Api& api, const http::Request&) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::RegisteredModel& model : KEDGE_TRY(api.models.list())) {
    list.push_back(render_model(model));
  }
  return http::json_response(dump({{"models", std::move(list)}}));
}

Result<http::Response> get_model(const Api& api, const http::Request& request) {
  return http::json_response(
      dump(render_model(KEDGE_TRY(api.models.find(request.parameter("model"))))));
}

Result<http::Response> create_model(const Api& api, const http::Request& request,
                                    const Input& input) {
  store::RegisteredModel model;
  model.name = input.at("name");
  model.description = input.at("description");
  model.tags = tags_of(input).first;
  if (api.models.find(model.name)) {
    return http::error_response(409, fmt::format("there is a model '{}' already", model.name));
  }
  KEDGE_TRY(api.models.create(model, api.now_us()));
  api.audit(request, "model.make", model.name);
  return http::json_response(dump(render_model(KEDGE_TRY(api.models.find(model.name)))), 201);
}

store::ModelPatch patch_of(const Input& input) {
  auto [tags, removed] = tags_of(input);
  store::ModelPatch patch;
  patch.description = find<std::string>(input, "description");
  patch.stage = find<std::string>(input, "stage");
  patch.tags = std::move(tags);
  patch.removed_tags = std::move(removed);
  return patch;
}

Result<http::Response> patch_model(const Api& api, const http::Request& request,
                                   const Input& input) {
  std::string name = request.parameter("model");
  KEDGE_TRY(api.models.patch(name, patch_of(input), api.now_us()));
  if (const auto other = find<std::string>(input, "name"); other && *other != name) {
    KEDGE_TRY(api.models.rename(name, *other, api.now_us()));
    name = *other;
  }
  api.audit(request, "model.change", request.parameter("model"), input);
  return http::json_response(dump(render_model(KEDGE_TRY(api.models.find(name)))));
}

Result<http::Response> delete_model(const Api& api, const http::Request& request) {
  KEDGE_TRY(api.models.remove(request.parameter("model")));
  api.audit(request, "model.delete", request.parameter("model"));
  return http::Response{.status = 204};
}

Result<http::Response> add_version(const Api& api, const http::Request& request,
                                   const Input& input) {
  store::ModelVersion draft;
  draft.model = request.parameter("model");
  draft.source = input.at("source");
  draft.run_id = input.at("run_id");
  draft.description = input.at("description");
  draft.tags = tags_of(input).first;
  draft.user = request.caller.name;
  const auto version = KEDGE_TRY(api.models.add_version(draft, api.now_us()));
  api.audit(request, "model.add_version", version_name(draft.model, version.version),
            {{"source", draft.source}});
  return http::json_response(dump(render_model_version(version)), 201);
}

Result<http::Response> get_model_version(const Api& api, const http::Request& request) {
  return http::json_response(dump(render_model_version(KEDGE_TRY(
      api.models.find_version(request.parameter("model"), KEDGE_TRY(version_of(request)))))));
}

Result<http::Response> patch_model_version(const Api& api, const http::Request& request,
                                           const Input& input) {
  KEDGE_TRY(api.models.patch_version(request.parameter("model"), KEDGE_TRY(version_of(request)),
                                     patch_of(input), api.now_us()));
  api.audit(request, "model.change_version",
            version_name(request.parameter("model"), KEDGE_TRY(version_of(request))), input);
  return get_model_version(api, request);
}

Result<http::Response> delete_model_version(const Api& api, const http::Request& request) {
  const std::int64_t version = KEDGE_TRY(version_of(request));
  KEDGE_TRY(api.models.remove_version(request.parameter("model"), version, api.now_us()));
  api.audit(request, "model.delete_version", version_name(request.parameter("model"), version));
  return http::Response{.status = 204};
}

Result<http::Response> put_model_alias(const Api& api, const http::Request& request,
                                       const Input& input) {
  const std::int64_t version = input.at("version");
  KEDGE_TRY(api.models.set_alias(request.parameter("model"), request.parameter("alias"), version));
  api.audit(request, "model.alias", version_name(request.parameter("model"), version),
            {{"alias", request.parameter("alias")}});
  return http::Response{.status = 204};
}

Result<http::Response> delete_model_alias(const Api& api, const http::Request& request) {
  KEDGE_TRY(api.models.remove_alias(request.parameter("model"), request.parameter("alias")));
  api.audit(request, "model.delete_alias", request.parameter("model"),
            {{"alias", request.parameter("alias")}});
  return http::Response{.status = 204};
}

}  // namespace

void add_model_routes(Routes& routes) {
  const std::string model = "/api/v1/models/{model}";
  const std::string version = model + "/versions/{version}";
  const std::string alias = model + "/aliases/{alias}";
  const http::RouteOptions write = {.role = http::Role::Write};
  routes.name("ModelVersion", R"({
    version: integer,
    stage: string,
    aliases: string[],
    source: {project: string, artifact: string, version: string} | null,  // where it is an artifact
    source_uri: string,
    run_id: string,
    description: string,
    tags: {*: string},
    user: string,
    created_us: time,
    changed_us: time,
  })");
  routes.name("Model", R"({
    name: string,
    description: string,
    tags: {*: string},
    aliases: {*: integer},
    created_us: time,
    changed_us: time,
    versions: ModelVersion[],
  })");
  routes.name("ModelPatch", R"({
    description?: string,
    tags?: {*: string | null},  // merged: null removes one
  })");
  routes.add(http::Method::Get, "/api/v1/models",
             {.summary = "The registered models", .answer = "{models: Model[]}"}, list_models);
  routes.add(http::Method::Post, "/api/v1/models",
             {.summary = "Register a model",
              .options = write,
              .body = "ModelPatch & {name: string, description?: string = \"\"}",
              .answer = "Model",
              .statuses = {201}},
             create_model);
  routes.add(http::Method::Get, model, {.summary = "A model with its versions", .answer = "Model"},
             get_model);
  routes.add(http::Method::Patch, model,
             {.summary = "Change or rename a model",
              .options = write,
              .body = "ModelPatch & {name?: string}",
              .answer = "Model"},
             patch_model);
  routes.add(http::Method::Delete, model, {.summary = "Remove a model", .options = write},
             delete_model);
  routes.add(http::Method::Post, model + "/versions",
             {.summary = "Add a version",
              .options = write,
              .body = R"(ModelPatch & {
                source?: string = "",  // "artifact:project/name:v3", or any address
                run_id?: string = "",
                description?: string = "",
              })",
              .answer = "ModelVersion",
              .statuses = {201}},
             add_version);
  routes.add(http::Method::Get, version, {.summary = "A version", .answer = "ModelVersion"},
             get_model_version);
  routes.add(http::Method::Patch, version,
             {.summary = "Change a version",
              .options = write,
              .body = "ModelPatch & {stage?: string}",
              .answer = "ModelVersion"},
             patch_model_version);
  routes.add(http::Method::Delete, version, {.summary = "Remove a version", .options = write},
             delete_model_version);
  routes.add(http::Method::Put, alias,
             {.summary = "Give a version an alias; it moves",
              .options = write,
              .body = "{version: integer}"},
             put_model_alias);
  routes.add(http::Method::Delete, alias, {.summary = "Take an alias away", .options = write},
             delete_model_alias);
}

}  // namespace kedge::server
