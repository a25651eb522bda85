#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"
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

Result<store::ArtifactVersion> find_version(const Api& api, const http::Request& request) {
  return api.artifacts.find(request.parameter("project"), request.parameter("name"),
                            request.parameter("version"));
}

std::string target_of(const store::ArtifactVersion& version) {
  return fmt::format("{}/{}:v{}", version.project, version.name, version.version);
}

Result<http::Response> list_artifacts(const Api& api, const http::Request& request,
                                      const Input& input) {
  nlohmann::json list = nlohmann::json::array();
  const std::string type = input.at("type");
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
  return http::json_response(dump({{"artifacts", std::move(list)}}));
}

// What is linked into a collection of this name, newest first. A collection's versions are versions
// of other artifacts under numbers of its own.
Result<nlohmann::json> list_links(const Api& api, const http::Request& request) {
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

Result<http::Response> list_versions(const Api& api, const http::Request& request) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::ArtifactVersion& version :
       KEDGE_TRY(api.artifacts.versions(request.parameter("project"), request.parameter("name")))) {
    list.push_back(render_artifact_version(version));
  }
  return http::json_response(
      dump({{"versions", std::move(list)}, {"links", KEDGE_TRY(list_links(api, request))}}));
}

Result<http::Response> get_artifact_version(const Api& api, const http::Request& request) {
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
  return http::json_response(dump(json));
}

Result<http::Response> commit_version(const Api& api, const http::Request& request,
                                      const Input& input) {
  store::ArtifactDraft draft;
  draft.project = request.parameter("project");
  draft.name = request.parameter("name");
  draft.type = input.at("type");
  draft.description = input.at("description");
  draft.metadata = input.value("metadata", Input::object());
  draft.aliases = input.at("aliases");
  for (const Input& file : input.at("files")) {
    draft.files.push_back({.path = file.at("path"),
                           .digest = file.at("digest"),
                           .size = file.at("size"),
                           .reference = file.at("reference")});
  }
  draft.blobs_of = request.caller.project;
  if (const auto run = find<std::string>(input, "run")) {
    draft.made_by = store::RunKey{draft.project, *run};
  }
  const auto answer = KEDGE_TRY(api.artifacts.commit(draft, api.now_us()));
  if (answer.version && answer.is_new) {
    api.audit(request, "artifact.make", target_of(*answer.version));
  }
  return http::json_response(
      dump({{"version",
             answer.version ? render_artifact_version(*answer.version) : nlohmann::json()},
            {"missing", answer.missing},
            {"is_new", answer.is_new}}),
      answer.version && answer.is_new ? 201 : 200);
}

Result<http::Response> patch_artifact_version(const Api& api, const http::Request& request,
                                              const Input& input) {
  const auto version = KEDGE_TRY(find_version(api, request));
  if (const auto description = find<std::string>(input, "description")) {
    KEDGE_TRY(api.artifacts.set_description(version, *description));
  }
  if (input.contains("metadata")) {
    KEDGE_TRY(api.artifacts.set_metadata(version, input["metadata"]));
  }
  api.audit(request, "artifact.change", target_of(version), input);
  return http::json_response(dump(render_artifact_version(KEDGE_TRY(find_version(api, request)))));
}

Result<http::Response> delete_artifact_version(const Api& api, const http::Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  const std::uint64_t freed = KEDGE_TRY(api.artifacts.remove(version));
  api.audit(request, "artifact.delete", target_of(version), {{"freed_bytes", freed}});
  return http::json_response(dump({{"freed_bytes", freed}}));
}

Result<http::Response> put_artifact_alias(const Api& api, const http::Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  KEDGE_TRY(api.artifacts.set_alias(version, request.parameter("alias")));
  api.audit(request, "artifact.alias", target_of(version), {{"alias", request.parameter("alias")}});
  return http::Response{.status = 204};
}

Result<http::Response> delete_artifact_alias(const Api& api, const http::Request& request) {
  KEDGE_TRY(find_version(api, request));
  if (!KEDGE_TRY(api.artifacts.remove_alias(request.parameter("project"), request.parameter("name"),
                                            request.parameter("alias")))) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no alias '{}'", request.parameter("alias")));
  }
  api.audit(request, "artifact.delete_alias",
            fmt::format("{}/{}", request.parameter("project"), request.parameter("name")),
            {{"alias", request.parameter("alias")}});
  return http::Response{.status = 204};
}

Result<http::Response> use_version(const Api& api, const http::Request& request,
                                   const Input& input) {
  const auto version = KEDGE_TRY(find_version(api, request));
  KEDGE_TRY(api.artifacts.use(version, {version.project, input.at("run")}, api.now_us()));
  return http::Response{.status = 204};
}

Result<http::Response> get_artifact_file(const Api& api, const http::Request& request) {
  const auto version = KEDGE_TRY(find_version(api, request));
  const std::string& path = request.parameter("path");
  for (const store::ArtifactFile& file : KEDGE_TRY(api.artifacts.files(version))) {
    if (file.path == path && file.reference.empty()) {
      return blob_response(api, request,
                           {.path = file.path, .size = file.size, .digest = file.digest});
    }
    if (file.path == path) {
      http::Response response{.status = 307};
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

Result<http::Response> get_lineage(const Api& api, const http::Request& request) {
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
  return http::json_response(
      dump({{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"cut", lineage.is_cut}}));
}

// Without those of projects that the caller may not see.
nlohmann::json render_visible(const http::Request& request,
                              const std::vector<store::ArtifactVersion>& versions) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::ArtifactVersion& version : versions) {
    if (check_project(request.caller, version.project, request.caller.run)) {
      list.push_back(render_artifact_version(version));
    }
  }
  return list;
}

Result<http::Response> list_run_artifacts(const Api& api, const http::Request& request) {
  const store::RunKey key = run_key(request);
  KEDGE_TRY(api.store.find_run(key));
  const store::RunArtifacts found = KEDGE_TRY(api.artifacts.of_run(key));
  return http::json_response(dump({{"made", render_visible(request, found.made)},
                                   {"used", render_visible(request, found.used)}}));
}

}  // namespace

namespace {

void name_artifact_shapes(Routes& routes) {
  routes.name("ArtifactFacts", R"({
    name: string,
    type: string,
    description: string,
    version_count: integer,
    latest: string,
    size: integer,
    created_us: time,
    last_us: time,
  })");
  routes.name("ArtifactFile", R"(RunFile & {
    reference?: string,  // a URI: the bytes stay there
  })");
  routes.name("ArtifactVersion", R"({
    project: string,
    name: string,
    type: string,
    version: string,
    aliases: string[],
    digest: string,
    description: string,
    metadata: {*: any},
    size: integer,
    file_count: integer,
    created_us: time,
    made_by: RunRef | null,
    files?: ArtifactFile[],  // of one version that was asked for
    used_by?: RunRef[],
  })");
  routes.name("ArtifactLink", R"({
    version: string,
    aliases: string[],
    source: {project: string, name: string, version: string},
  })");
  routes.name("VersionsAnswer", R"({
    versions: ArtifactVersion[],
    links: ArtifactLink[],  // of a collection: what is linked into it, newest first
  })");
  routes.name("LineageNode", R"({
    id: string,
    kind: 'run' | 'artifact',
    label: string,
    project: string,
    run?: string,
    state?: string,  // of a run; 'deleted' where it is gone
  })");
  routes.name("Lineage", R"({
    nodes: LineageNode[],
    edges: {from: string, to: string}[],
    cut: boolean,  // there is more than is told
  })");
  routes.name("RunArtifacts", "{made: ArtifactVersion[], used: ArtifactVersion[]}");
}

}  // namespace

void add_artifact_routes(Routes& routes) {
  name_artifact_shapes(routes);
  const std::string project = "/api/v1/artifacts/{project}";
  const std::string version = project + "/{name}/{version}";
  const std::string alias = version + "/aliases/{alias}";
  const http::RouteOptions write = {.role = http::Role::Write};
  routes.add(http::Method::Get, project,
             {.summary = "The artifacts of a project",
              .query = "{type?: string = \"\"}",
              .answer = "{artifacts: ArtifactFacts[]}"},
             list_artifacts);
  routes.add(http::Method::Get, project + "/{name}",
             {.summary = "The versions of an artifact", .answer = "VersionsAnswer"}, list_versions);
  routes.add(http::Method::Post, project + "/{name}",
             {.summary = "Make a version of a list of files; where blobs are missing, nothing is "
                         "made and they are named",
              .options = {.role = http::Role::Write, .max_body_bytes = kMaxManifestBytes},
              .body = R"({
                type?: string = "dataset",
                description?: string = "",
                metadata?: {*: any},
                aliases?: string[] = [],
                files: {
                  path: string,
                  digest?: string = "",
                  size?: integer(0..) = 0,
                  reference?: string = "",  // a URI: the bytes stay there
                }[],
                run?: string,  // id of the run that made it
              })",
              .answer = "{version: ArtifactVersion | null, missing: string[], is_new: boolean}",
              .statuses = {201, 200}},
             commit_version);
  routes.add(
      http::Method::Get, version,
      {.summary = "A version, by number or alias, with its files", .answer = "ArtifactVersion"},
      get_artifact_version);
  routes.add(http::Method::Patch, version,
             {.summary = "Change its description or its metadata",
              .options = write,
              .body = "{metadata?: {*: any}, description?: string}",
              .answer = "ArtifactVersion"},
             patch_artifact_version);
  routes.add(http::Method::Delete, version,
             {.summary = "Remove a version and free what nothing else holds",
              .options = write,
              .answer = "{freed_bytes: integer}"},
             delete_artifact_version);
  routes.add(http::Method::Put, alias, {.summary = "Give it an alias; it moves", .options = write},
             put_artifact_alias);
  routes.add(http::Method::Delete, alias, {.summary = "Take an alias away", .options = write},
             delete_artifact_alias);
  routes.add(http::Method::Post, version + "/use",
             {.summary = "Say that a run uses it", .options = write, .body = R"({
                run: string,  // its id
              })"},
             use_version);
  routes.add(http::Method::Get, version + "/lineage",
             {.summary = "What it came from and what came of it", .answer = "Lineage"},
             get_lineage);
  routes.add(http::Method::Get, version + "/files/{path...}",
             {.summary = "A file of it; 307 to its reference", .answer = "file"},
             get_artifact_file);
  routes.add(
      http::Method::Get, "/api/v1/runs/{project}/{id}/artifacts",
      {.summary = "The versions of artifacts that a run made and used", .answer = "RunArtifacts"},
      list_run_artifacts);
}

}  // namespace kedge::server
