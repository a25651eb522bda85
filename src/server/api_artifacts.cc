#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"
#include "store/dialect/portfolios.h"

namespace kedge::server {
namespace {

constexpr std::uint64_t kMaxManifestBytes = 256U << 20U;

nlohmann::json render_run_key(const store::RunKey& run) {
  return {{"project", run.project}, {"id", run.id}};
}

nlohmann::json render_artifact_version(const store::ArtifactVersion& version) {
  return {{"project", version.project},
          {"name", version.name},
          {"type", version.type},
          {"version", fmt::format("v{}", version.version)},
          {"aliases", version.aliases},
          {"digest", version.digest},
          {"description", version.description},
          {"metadata", version.metadata},
          {"size", version.size},
          {"file_count", version.file_count},
          {"created_us", version.created_us},
          {"made_by", version.made_by ? render_run_key(*version.made_by) : nlohmann::json()}};
}

Result<store::ArtifactVersion> find_version(const Api& api, const Request& request) {
  return api.artifacts.find(request.parameter("project"), request.parameter("name"),
                            request.parameter("version"));
}

std::string target_of(const store::ArtifactVersion& version) {
  return fmt::format("{}/{}:v{}", version.project, version.name, version.version);
}

Result<Response> list_artifacts(const Api& api, const Request& request) {
  nlohmann::json list = nlohmann::json::array();
  const std::string type(request.query_value("type").value_or(""));
  for (const store::Artifact& artifact :
       KEDGE_TRY(api.artifacts.list(request.parameter("project"), type))) {
    list.push_back(
        {{"name", artifact.name},
         {"type", artifact.type},
         {"description", artifact.description},
         {"version_count", artifact.version_count},
         {"latest", artifact.latest ? fmt::format("v{}", *artifact.latest) : std::string()},
         {"size", artifact.size},
         {"created_us", artifact.created_us},
         {"last_us", artifact.changed_us}});
  }
  return json_response(dump({{"artifacts", std::move(list)}}));
}

// What is linked into a collection of this name, newest first. A collection's versions are versions
// of other artifacts under numbers of its own.
Result<nlohmann::json> list_links(const Api& api, const Request& request) {
  const store::Portfolios portfolios(api.store);
  const auto collection =
      KEDGE_TRY(portfolios.find(request.parameter("project"), request.parameter("name")));
  nlohmann::json links = nlohmann::json::array();
  if (!collection) {
    return links;
  }
  for (const store::PortfolioMember& member : KEDGE_TRY(portfolios.members(collection->id))) {
    if (check_project(request.caller, member.project, request.caller.run)) {
      links.push_back({{"version", fmt::format("v{}", member.index)},
                       {"aliases", member.aliases},
                       {"source",
                        {{"project", member.project},
                         {"name", member.name},
                         {"version", fmt::format("v{}", member.version)}}}});
    }
  }
  return links;
}

Result<Response> list_versions(const Api& api, const Request& request) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::ArtifactVersion& version :
       KEDGE_TRY(api.artifacts.versions(request.parameter("project"), request.parameter("name")))) {
    list.push_back(render_artifact_version(version));
  }
  return json_response(
      dump({{"versions", std::move(list)}, {"links", KEDGE_TRY(list_links(api, request))}}));
}

Result<Response> get_artifact_version(const Api& api, const Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  nlohmann::json json = render_artifact_version(version);
  json["files"] = nlohmann::json::array();
  for (const store::ArtifactFile& file : KEDGE_TRY(api.artifacts.files(version))) {
    json["files"].push_back({{"path", file.path}, {"size", file.size}, {"digest", file.digest}});
    if (!file.reference.empty()) {
      json["files"].back()["reference"] = file.reference;
    }
  }
  json["used_by"] = nlohmann::json::array();
  for (const store::RunKey& run : KEDGE_TRY(api.artifacts.users(version))) {
    json["used_by"].push_back(render_run_key(run));
  }
  return json_response(dump(json));
}

Result<std::vector<store::ArtifactFile>> parse_files(const nlohmann::json& json) {
  const auto list = json.find("files");
  if (list == json.end() || !list->is_array()) {
    return fail(ErrorKind::Usage, "'files' must be a list of {path, digest, size}");
  }
  std::vector<store::ArtifactFile> files;
  for (const nlohmann::json& entry : *list) {
    if (!entry.is_object()) {
      return fail(ErrorKind::Usage, "'files' must be a list of {path, digest, size}");
    }
    KEDGE_TRY(check_names(entry, {"path", "digest", "size", "reference"}));
    store::ArtifactFile file;
    file.path = KEDGE_TRY(find_text(entry, "path")).value_or("");
    file.digest = KEDGE_TRY(find_text(entry, "digest")).value_or("");
    file.reference = KEDGE_TRY(find_text(entry, "reference")).value_or("");
    const std::int64_t size = KEDGE_TRY(find_integer(entry, "size")).value_or(0);
    file.size = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
    files.push_back(std::move(file));
  }
  return files;
}

Result<Response> commit_version(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"type", "description", "metadata", "aliases", "files", "run"}));
  store::ArtifactDraft draft;
  draft.project = request.parameter("project");
  draft.name = request.parameter("name");
  draft.type = KEDGE_TRY(find_text(json, "type")).value_or("dataset");
  draft.description = KEDGE_TRY(find_text(json, "description")).value_or("");
  draft.metadata = json.value("metadata", nlohmann::json::object());
  draft.aliases = KEDGE_TRY(find_texts(json, "aliases")).value_or(std::vector<std::string>());
  draft.files = KEDGE_TRY(parse_files(json));
  draft.blobs_of = request.caller.project;
  if (const auto run = KEDGE_TRY(find_text(json, "run"))) {
    draft.made_by = store::RunKey{draft.project, *run};
  }
  const auto answer = KEDGE_TRY(api.artifacts.commit(draft, api.now_us()));
  if (answer.version && answer.is_new) {
    api.audit(request, "artifact.make", target_of(*answer.version));
  }
  return json_response(dump({{"version", answer.version ? render_artifact_version(*answer.version)
                                                        : nlohmann::json()},
                             {"missing", answer.missing},
                             {"is_new", answer.is_new}}),
                       answer.version && answer.is_new ? 201 : 200);
}

Result<Response> patch_artifact_version(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"metadata", "description"}));
  const auto description = KEDGE_TRY(find_text(json, "description"));
  const auto version = KEDGE_TRY(find_version(api, request));
  if (description) {
    KEDGE_TRY(api.artifacts.set_description(version, *description));
  }
  if (json.contains("metadata")) {
    KEDGE_TRY(api.artifacts.set_metadata(version, json["metadata"]));
  }
  api.audit(request, "artifact.change", target_of(version), json);
  return json_response(dump(render_artifact_version(KEDGE_TRY(find_version(api, request)))));
}

Result<Response> delete_artifact_version(const Api& api, const Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  const std::uint64_t freed = KEDGE_TRY(api.artifacts.remove(version));
  api.audit(request, "artifact.delete", target_of(version), {{"freed_bytes", freed}});
  return json_response(dump({{"freed_bytes", freed}}));
}

Result<Response> put_artifact_alias(const Api& api, const Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  KEDGE_TRY(api.artifacts.set_alias(version, request.parameter("alias")));
  api.audit(request, "artifact.alias", target_of(version), {{"alias", request.parameter("alias")}});
  return Response{.status = 204};
}

Result<Response> delete_artifact_alias(const Api& api, const Request& request) {
  KEDGE_TRY(find_version(api, request));
  if (!KEDGE_TRY(api.artifacts.remove_alias(request.parameter("project"), request.parameter("name"),
                                            request.parameter("alias")))) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no alias '{}'", request.parameter("alias")));
  }
  api.audit(request, "artifact.delete_alias",
            fmt::format("{}/{}", request.parameter("project"), request.parameter("name")),
            {{"alias", request.parameter("alias")}});
  return Response{.status = 204};
}

Result<Response> use_version(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"run"}));
  const auto run = KEDGE_TRY(find_text(json, "run"));
  if (!run) {
    return fail(ErrorKind::Usage, "'run' is needed: the id of the run that uses it");
  }
  const auto version = KEDGE_TRY(find_version(api, request));
  KEDGE_TRY(api.artifacts.use(version, {version.project, *run}, api.now_us()));
  return Response{.status = 204};
}

Result<Response> get_artifact_file(const Api& api, const Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  const std::string& path = request.parameter("path");
  for (const store::ArtifactFile& file : KEDGE_TRY(api.artifacts.files(version))) {
    if (file.path == path && file.reference.empty()) {
      return blob_response(api, request,
                           {.path = file.path, .size = file.size, .digest = file.digest});
    }
    if (file.path == path) {
      Response response{.status = 307};
      response.headers.add("Location", file.reference);
      return response;
    }
  }
  return fail(ErrorKind::NotFound, fmt::format("{} has no file '{}'", target_of(version), path));
}

std::string id_of(const store::LineageNode& node) {
  return node.kind == store::LineageNode::Kind::Run
             ? fmt::format("run:{}/{}", node.project, node.name)
             : fmt::format("artifact:{}/{}:v{}", node.project, node.name, node.version);
}

nlohmann::json render_node(const Api& api, const store::LineageNode& node) {
  nlohmann::json json = {{"id", id_of(node)}, {"project", node.project}};
  if (node.kind == store::LineageNode::Kind::Run) {
    const auto facts = api.store.find_facts({node.project, node.name});
    json["kind"] = "run";
    json["run"] = node.name;
    json["label"] = facts && !facts->name.empty() ? facts->name : node.name;
    json["state"] = facts ? std::string(store::name_of(facts->state)) : "deleted";
  } else {
    json["kind"] = "artifact";
    json["label"] = fmt::format("{}:v{}", node.name, node.version);
  }
  return json;
}

Result<Response> get_lineage(const Api& api, const Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  const auto lineage = KEDGE_TRY(api.artifacts.lineage({.kind = store::LineageNode::Kind::Artifact,
                                                        .project = version.project,
                                                        .name = version.name,
                                                        .version = version.version}));
  nlohmann::json nodes = nlohmann::json::array();
  for (const store::LineageNode& node : lineage.nodes) {
    nodes.push_back(render_node(api, node));
  }
  nlohmann::json edges = nlohmann::json::array();
  for (const store::LineageEdge& edge : lineage.edges) {
    edges.push_back(
        {{"from", id_of(lineage.nodes[edge.from])}, {"to", id_of(lineage.nodes[edge.to])}});
  }
  return json_response(
      dump({{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"cut", lineage.is_cut}}));
}

// Without those of projects that the caller may not see.
nlohmann::json render_visible(const Request& request,
                              const std::vector<store::ArtifactVersion>& versions) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::ArtifactVersion& version : versions) {
    if (check_project(request.caller, version.project, request.caller.run)) {
      list.push_back(render_artifact_version(version));
    }
  }
  return list;
}

Result<Response> list_run_artifacts(const Api& api, const Request& request) {
  const store::RunKey key = run_key(request);
  KEDGE_TRY(api.store.find_run(key));
  const store::RunArtifacts found = KEDGE_TRY(api.artifacts.of_run(key));
  return json_response(dump({{"made", render_visible(request, found.made)},
                             {"used", render_visible(request, found.used)}}));
}

}  // namespace

void add_artifact_routes(Router& router, const Api& api) {
  const auto add = [&](Method method, std::string pattern, RouteOptions options,
                       Result<Response> (*handler)(const Api&, const Request&)) {
    router.add(method, std::move(pattern), options,
               [&api, handler](const Request& request) { return handler(api, request); });
  };
  const std::string project = "/api/v1/artifacts/{project}";
  const std::string version = project + "/{name}/{version}";
  const RouteOptions write = {.role = Role::Write};
  add(Method::Get, project, {}, list_artifacts);
  add(Method::Get, project + "/{name}", {}, list_versions);
  add(Method::Post, project + "/{name}", {.role = Role::Write, .max_body_bytes = kMaxManifestBytes},
      commit_version);
  add(Method::Get, version, {}, get_artifact_version);
  add(Method::Patch, version, write, patch_artifact_version);
  add(Method::Delete, version, write, delete_artifact_version);
  add(Method::Put, version + "/aliases/{alias}", write, put_artifact_alias);
  add(Method::Delete, version + "/aliases/{alias}", write, delete_artifact_alias);
  add(Method::Post, version + "/use", write, use_version);
  add(Method::Get, version + "/lineage", {}, get_lineage);
  add(Method::Get, version + "/files/{path...}", {}, get_artifact_file);
  add(Method::Get, "/api/v1/runs/{project}/{id}/artifacts", {}, list_run_artifacts);
}

}  // namespace kedge::server
