#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

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

// Texts; null removes a tag.
Result<std::pair<Tags, std::vector<std::string>>> parse_tags(const nlohmann::json& json) {
  std::pair<Tags, std::vector<std::string>> tags;
  const auto found = json.find("tags");
  if (found == json.end()) {
    return tags;
  }
  if (!found->is_object()) {
    return fail(ErrorKind::Usage, "'tags' must be an object of texts");
  }
  for (const auto& [name, value] : found->items()) {
    if (value.is_null()) {
      tags.second.push_back(name);
    } else if (value.is_string()) {
      tags.first[name] = value.get<std::string>();
    } else {
      return fail(ErrorKind::Usage, fmt::format("the tag '{}' must be a text", name));
    }
  }
  return tags;
}

Result<std::int64_t> version_of(const Request& request) {
  std::string_view text = request.parameter("version");
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  std::int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorKind::Usage, fmt::format("a version is a number, not '{}'", text));
  }
  return version;
}

Result<Response> list_models(const Api& api, const Request&) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::RegisteredModel& model : KEDGE_TRY(api.models.list())) {
    list.push_back(render_model(model));
  }
  return json_response(dump({{"models", std::move(list)}}));
}

Result<Response> get_model(const Api& api, const Request& request) {
  return json_response(dump(render_model(KEDGE_TRY(api.models.find(request.parameter("model"))))));
}

Result<Response> create_model(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"name", "description", "tags"}));
  store::RegisteredModel model;
  model.name = KEDGE_TRY(find_text(json, "name")).value_or("");
  model.description = KEDGE_TRY(find_text(json, "description")).value_or("");
  model.tags = KEDGE_TRY(parse_tags(json)).first;
  if (api.models.find(model.name)) {
    return error_response(409, fmt::format("there is a model '{}' already", model.name));
  }
  KEDGE_TRY(api.models.create(model, api.now_us()));
  api.audit(request, "model.make", model.name);
  return json_response(dump(render_model(KEDGE_TRY(api.models.find(model.name)))), 201);
}

Result<store::ModelPatch> parse_model_patch(const nlohmann::json& json) {
  auto [tags, removed] = KEDGE_TRY(parse_tags(json));
  store::ModelPatch patch;
  patch.description = KEDGE_TRY(find_text(json, "description"));
  patch.stage = KEDGE_TRY(find_text(json, "stage"));
  patch.tags = std::move(tags);
  patch.removed_tags = std::move(removed);
  return patch;
}

Result<Response> patch_model(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"name", "description", "tags"}));
  std::string name = request.parameter("model");
  KEDGE_TRY(api.models.patch(name, KEDGE_TRY(parse_model_patch(json)), api.now_us()));
  if (const auto other = KEDGE_TRY(find_text(json, "name")); other && *other != name) {
    KEDGE_TRY(api.models.rename(name, *other, api.now_us()));
    name = *other;
  }
  api.audit(request, "model.change", request.parameter("model"), json);
  return json_response(dump(render_model(KEDGE_TRY(api.models.find(name)))));
}

Result<Response> delete_model(const Api& api, const Request& request) {
  KEDGE_TRY(api.models.remove(request.parameter("model")));
  api.audit(request, "model.delete", request.parameter("model"));
  return Response{.status = 204};
}

Result<Response> add_version(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"source", "run_id", "description", "tags"}));
  store::ModelVersion draft;
  draft.model = request.parameter("model");
  draft.source = KEDGE_TRY(find_text(json, "source")).value_or("");
  draft.run_id = KEDGE_TRY(find_text(json, "run_id")).value_or("");
  draft.description = KEDGE_TRY(find_text(json, "description")).value_or("");
  draft.tags = KEDGE_TRY(parse_tags(json)).first;
  draft.user = request.caller.name;
  const auto version = KEDGE_TRY(api.models.add_version(draft, api.now_us()));
  api.audit(request, "model.add_version", version_name(draft.model, version.version),
            {{"source", draft.source}});
  return json_response(dump(render_model_version(version)), 201);
}

Result<Response> get_model_version(const Api& api, const Request& request) {
  return json_response(dump(render_model_version(KEDGE_TRY(
      api.models.find_version(request.parameter("model"), KEDGE_TRY(version_of(request)))))));
}

Result<Response> patch_model_version(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"description", "tags", "stage"}));
  KEDGE_TRY(api.models.patch_version(request.parameter("model"), KEDGE_TRY(version_of(request)),
                                     KEDGE_TRY(parse_model_patch(json)), api.now_us()));
  api.audit(request, "model.change_version",
            version_name(request.parameter("model"), KEDGE_TRY(version_of(request))), json);
  return get_model_version(api, request);
}

Result<Response> delete_model_version(const Api& api, const Request& request) {
  const std::int64_t version = KEDGE_TRY(version_of(request));
  KEDGE_TRY(api.models.remove_version(request.parameter("model"), version, api.now_us()));
  api.audit(request, "model.delete_version", version_name(request.parameter("model"), version));
  return Response{.status = 204};
}

Result<Response> put_model_alias(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"version"}));
  const auto version = KEDGE_TRY(find_integer(json, "version"));
  if (!version) {
    return fail(ErrorKind::Usage, "'version' is needed");
  }
  KEDGE_TRY(api.models.set_alias(request.parameter("model"), request.parameter("alias"), *version));
  api.audit(request, "model.alias", version_name(request.parameter("model"), *version),
            {{"alias", request.parameter("alias")}});
  return Response{.status = 204};
}

Result<Response> delete_model_alias(const Api& api, const Request& request) {
  KEDGE_TRY(api.models.remove_alias(request.parameter("model"), request.parameter("alias")));
  api.audit(request, "model.delete_alias", request.parameter("model"),
            {{"alias", request.parameter("alias")}});
  return Response{.status = 204};
}

}  // namespace

void add_model_routes(Router& router, const Api& api) {
  const auto add = [&](Method method, std::string pattern, RouteOptions options,
                       Result<Response> (*handler)(const Api&, const Request&)) {
    router.add(method, std::move(pattern), options,
               [&api, handler](const Request& request) { return handler(api, request); });
  };
  const std::string model = "/api/v1/models/{model}";
  const std::string version = model + "/versions/{version}";
  const std::string alias = model + "/aliases/{alias}";
  const RouteOptions write = {.role = Role::Write};
  add(Method::Get, "/api/v1/models", {}, list_models);
  add(Method::Post, "/api/v1/models", write, create_model);
  add(Method::Get, model, {}, get_model);
  add(Method::Patch, model, write, patch_model);
  add(Method::Delete, model, write, delete_model);
  add(Method::Post, model + "/versions", write, add_version);
  add(Method::Get, version, {}, get_model_version);
  add(Method::Patch, version, write, patch_model_version);
  add(Method::Delete, version, write, delete_model_version);
  add(Method::Put, alias, write, put_model_alias);
  add(Method::Delete, alias, write, delete_model_alias);
}

}  // namespace kedge::server
