#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

nlohmann::json render_view(const store::View& view) {
  return {{"id", view.id}, {"name", view.name}, {"project", view.project}, {"view", view.view}};
}

Result<http::Response> list_views(const Api& api, const http::Request& request,
                                  const Input& input) {
  const std::string project = KEDGE_TRY(project_of(request, input));
  nlohmann::json list = nlohmann::json::array();
  if (!request.caller.run.empty()) {  // a link to one run says nothing of the project around it
    return http::json_response(dump({{"views", std::move(list)}}));
  }
  for (const store::View& view : KEDGE_TRY(api.store.list_views(project))) {
    list.push_back(render_view(view));
  }
  return http::json_response(dump({{"views", std::move(list)}}));
}

Result<http::Response> get_view(const Api& api, const http::Request& request) {
  const auto view = KEDGE_TRY(api.store.find_view(request.parameter("view")));
  // As if it were not there: the refusal must not tell whose it is.
  if (!view || !request.caller.run.empty() || !check_project(request.caller, view->project)) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no view '{}'", request.parameter("view")));
  }
  return http::json_response(dump(render_view(*view)));
}

Result<http::Response> put_view(const Api& api, const http::Request& request, const Input& input) {
  store::View view;
  view.id = request.parameter("view");
  view.name = input.value("name", view.id);
  view.project = input.at("project");
  view.view = input.value("view", Input::object());
  KEDGE_TRY(api.store.put_view(view, api.now_us()));
  api.audit(request, "view.put", view.id, {{"name", view.name}});
  return http::json_response(dump(render_view(view)));
}

Result<http::Response> delete_view(const Api& api, const http::Request& request) {
  if (!KEDGE_TRY(api.store.delete_view(request.parameter("view")))) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no view '{}'", request.parameter("view")));
  }
  api.audit(request, "view.delete", request.parameter("view"));
  return http::Response{.status = 204};
}

Result<http::Response> list_audit(const Api& api, const http::Request&, const Input& input) {
  nlohmann::json list = nlohmann::json::array();
  for (const store::AuditLine& line : KEDGE_TRY(api.store.list_audit(input.at("limit")))) {
    list.push_back({{"time_us", line.time_us},
                    {"who", line.who},
                    {"what", line.what},
                    {"target", line.target},
                    {"detail", line.detail}});
  }
  return http::json_response(dump({{"audit", std::move(list)}}));
}

}  // namespace

void add_view_routes(Routes& routes) {
  const std::string view = "/api/v1/views/{view}";
  routes.name("SavedView", R"({
    id: string,
    name: string,
    project: string,
    view: {*: any},  // the page's own
  })");
  routes.name("AuditLine", R"({
    time_us: time,
    who: string,
    what: string,  // run.delete
    target: string,
    detail: {*: any},
  })");
  routes.add(http::Method::Get, "/api/v1/views",
             {.summary = "Saved views",
              .options = {.is_scoped = true},
              .query = "{project?: string}",
              .answer = "{views: SavedView[]}"},
             list_views);
  routes.add(http::Method::Get, view,
             {.summary = "A view", .options = {.is_scoped = true}, .answer = "SavedView"},
             get_view);
  routes.add(http::Method::Put, view,
             {.summary = "Save a view",
              .options = {.role = http::Role::Write},
              .body = R"({
                id?: string,  // the address says it
                name?: string,
                project?: string = "",
                view?: {*: any},
              })",
              .answer = "SavedView"},
             put_view);
  routes.add(http::Method::Delete, view,
             {.summary = "Remove a view", .options = {.role = http::Role::Write}}, delete_view);
  routes.add(http::Method::Get, "/api/v1/audit",
             {.summary = "Who did what, newest first",
              .options = {.role = http::Role::Admin},
              .query = "{limit?: integer(0..10000) = 100}",
              .answer = "{audit: AuditLine[]}"},
             list_audit);
}

}  // namespace kedge::server
