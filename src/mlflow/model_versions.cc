#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/listed.h"
#include "mlflow/internal/logged_models.h"
#include "mlflow/internal/registry.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;
using store::ModelVersion;

constexpr std::int64_t kMostVersions = 200'000;

Response reply_version(const ModelVersion& version) {
  return reply({{"model_version", render_version(version)}});
}

// Python's json.dumps, with its spaces: clients compare the text.
std::string dump_versions(const nlohmann::json& versions) {
  std::vector<std::string> parts;
  for (const nlohmann::json& entry : versions) {
    parts.push_back(fmt::format("{{\"name\": {}, \"version\": {}}}", entry.at("name").dump(),
                                entry.at("version").dump()));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// The logged model says which versions were made of it.
Outcome<void> tell_logged_model(const Call& call, const ModelVersion& version) {
  constexpr const char* kTag = "mlflow.modelVersions";
  KEDGE_TRY(call.state.logged_models.edit(
      version.model_id,
      [&](LoggedModel& model) -> Result<void> {
        const auto versions = nlohmann::json::parse(
            model.tags.contains(kTag) ? model.tags[kTag] : "[]", nullptr, false);
        nlohmann::json kept = nlohmann::json::array();
        for (const nlohmann::json& entry : versions) {
          if (entry.is_object() && entry.contains("name") && entry.contains("version")) {
            kept.push_back(entry);
          }
        }
        kept.push_back({{"name", version.model}, {"version", version.version}});
        model.tags[kTag] = dump_versions(kept);
        return {};
      },
      call.api.now_us()));
  return {};
}

Outcome<Response> create_version(const Call& call) {
  ModelVersion draft;
  draft.model = KEDGE_TRY(call.fields.need_text("name"));
  draft.source = KEDGE_TRY(call.fields.need_text("source"));
  draft.run_id = KEDGE_TRY(call.fields.text("run_id"));
  draft.run_link = KEDGE_TRY(call.fields.text("run_link"));
  draft.description = KEDGE_TRY(call.fields.text("description"));
  draft.model_id = KEDGE_TRY(call.fields.text("model_id"));
  const KeyValues tags = KEDGE_TRY(call.fields.key_values("tags"));
  KEDGE_TRY(check_registry_tags(tags));
  draft.tags = {tags.begin(), tags.end()};
  draft.user = call.request.caller.name;
  KEDGE_TRY(load_registered_model(call, draft.model));
  if (!draft.model_id.empty()) {
    KEDGE_TRY(load_logged_model(call, draft.model_id));
  }
  const VersionSource source = KEDGE_TRY(check_source(call, draft));
  draft.run_id = source.run_id;
  draft.location = source.location == draft.source ? "" : source.location;
  const ModelVersion version = KEDGE_TRY(call.api.models.add_version(draft, call.api.now_us()));
  if (!version.model_id.empty()) {
    KEDGE_TRY(tell_logged_model(call, version));
  }
  return reply_version(version);
}

Outcome<Response> get_version(const Call& call) {
  return reply_version(KEDGE_TRY(load_version(call)));
}

Outcome<Response> patch(const Call& call, const store::ModelPatch& change) {
  const ModelVersion version = KEDGE_TRY(load_version(call));
  KEDGE_TRY(
      call.api.models.patch_version(version.model, version.version, change, call.api.now_us()));
  return reply_version(KEDGE_TRY(load_version(call)));
}

Outcome<Response> update_version(const Call& call) {
  return patch(call, {.description = KEDGE_TRY(call.fields.find_text("description"))});
}

Outcome<Response> remove_version(const Call& call) {
  const ModelVersion version = KEDGE_TRY(load_version(call));
  KEDGE_TRY(call.api.models.remove_version(version.model, version.version, call.api.now_us()));
  call.api.audit(call.request, "model.delete_version",
                 fmt::format("{}:v{}", version.model, version.version));
  return reply_empty();
}

Outcome<Response> move(const Call& call) {
  const std::string stage = KEDGE_TRY(read_stage(KEDGE_TRY(call.fields.need_text("stage"))));
  const bool is_archiving = KEDGE_TRY(call.fields.boolean("archive_existing_versions", false));
  if (is_archiving && stage != "Staging" && stage != "Production") {
    return refuse(
        fmt::format("Model version transition cannot archive existing model versions "
                    "because '{}' is not an Active stage. Valid stages are Staging, "
                    "Production",
                    stage));
  }
  const ModelVersion version = KEDGE_TRY(load_version(call));
  KEDGE_TRY(call.api.models.move_version(version.model, version.version, stage, is_archiving,
                                         call.api.now_us()));
  return reply_version(KEDGE_TRY(load_version(call)));
}

Outcome<Response> set_version_tag(const Call& call) {
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(check_registry_tags({{key, value}}));
  KEDGE_TRY(patch(call, {.tags = {{key, value}}}));
  return reply_empty();
}

Outcome<Response> delete_version_tag(const Call& call) {
  KEDGE_TRY(patch(call, {.removed_tags = {KEDGE_TRY(call.fields.need_text("key"))}}));
  return reply_empty();
}

std::string location_of(const ModelVersion& version) {
  return version.location.empty() ? version.source : version.location;
}

Outcome<Response> get_download_uri(const Call& call) {
  return reply({{"artifact_uri", location_of(KEDGE_TRY(load_version(call)))}});
}

Outcome<Response> get_version_artifact(const Call& call) {
  const std::string path = KEDGE_TRY(check_path(KEDGE_TRY(call.fields.need_text("path"))));
  const ModelVersion version = KEDGE_TRY(load_version(call));
  return send_file(call, KEDGE_TRY(locate_uri(call, location_of(version), path)));
}

Listed version_value(const ModelVersion& version, Entity entity, const std::string& key) {
  if (entity == Entity::Tag) {
    return text_in(version.tags, key);
  }
  return key == "name"                 ? Listed(version.model)
         : key == "run_id"             ? Listed(version.run_id)
         : key == "source_path"        ? Listed(location_of(version))
         : key == "version_number"     ? Listed(static_cast<double>(version.version))
         : key == "creation_timestamp" ? time_of(version.created_us)
                                       : time_of(version.changed_us);
}

Outcome<std::vector<OrderTerm>> read_version_order(const Fields& fields) {
  std::vector<OrderTerm> order;
  for (const std::string& text : KEDGE_TRY(fields.texts("order_by"))) {
    order.push_back(KEDGE_TRY(parse_order(text, kModelVersionLanguage)));
  }
  if (order.empty()) {
    order.push_back({.key = "last_updated_timestamp", .is_ascending = false});
  }
  order.push_back({.key = "name"});
  order.push_back({.key = "version_number", .is_ascending = false});
  return order;
}

Outcome<std::vector<ModelVersion>> find_versions(const Call& call) {
  auto clauses =
      KEDGE_TRY(parse_filter(KEDGE_TRY(call.fields.text("filter")), kModelVersionLanguage));
  const Prompts prompts = take_prompt_clause(clauses);
  const auto order = KEDGE_TRY(read_version_order(call.fields));
  std::vector<ModelVersion> versions;
  for (store::RegisteredModel& model : KEDGE_TRY(call.api.models.list())) {
    for (ModelVersion& version : model.versions) {
      if (is_prompt(version.tags) == (prompts == Prompts::Only) &&
          passes_all(clauses, version, version_value)) {
        versions.push_back(std::move(version));
      }
    }
  }
  sort_by(versions, order, version_value);
  return versions;
}

}  // namespace

Outcome<http::Response> search_model_versions(const Call& call) {
  const Page page = KEDGE_TRY(read_page(call.fields, kMostVersions, kMostVersions));
  const auto versions = KEDGE_TRY(find_versions(call));
  nlohmann::json body = nlohmann::json::object();
  add_page(body, "model_versions", page, versions.size(),
           [&](std::size_t i) { return render_version(versions[i]); });
  return reply(body);
}

void add_model_version_calls(Calls& calls) {
  calls.write(Method::Post, "model-versions/create", create_version);
  calls.read(Method::Get, "model-versions/get", get_version);
  calls.write(Method::Patch, "model-versions/update", update_version);
  calls.write(Method::Delete, "model-versions/delete", remove_version);
  calls.write(Method::Post, "model-versions/transition-stage", move);
  calls.write(Method::Post, "model-versions/set-tag", set_version_tag);
  calls.write(Method::Delete, "model-versions/delete-tag", delete_version_tag);
  calls.read(Method::Get, "model-versions/get-download-uri", get_download_uri);
  calls.read(Method::Get, "model-versions/search", search_model_versions);
  for (const char* path : {"/model-versions/get-artifact", "//model-versions/get-artifact"}) {
    http::RouteOptions options = read_options();
    options.is_scoped = false;
    calls.add(Method::Get, path, options, get_version_artifact);  // addresses joined carelessly
  }
}

}  // namespace kedge::mlflow
