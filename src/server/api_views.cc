#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::int64_t kMaxAuditLines = 10'000;

nlohmann::json render_view(const store::View& view) {
  return {{"id", view.id}, {"name", view.name}, {"project", view.project}, {"view", view.view}};
}

Result<Response> list_views(const Api& api, const Request& request) {
  const std::string project = KEDGE_TRY(project_of(request));
  nlohmann::json list = nlohmann::json::array();
  if (!request.caller.run.empty()) {  // a link to one run says nothing of the project around it
    return json_response(dump({{"views", std::move(list)}}));
  }
  for (const store::View& view : KEDGE_TRY(api.store.list_views(project))) {
    list.push_back(render_view(view));
  }
  return json_response(dump({{"views", std::move(list)}}));
}

Result<Response> get_view(const Api& api, const Request& request) {
  const auto view = KEDGE_TRY(api.store.find_view(request.parameter("view")));
  // As if it were not there: the refusal must not tell whose it is.
  if (!view || !request.caller.run.empty() || !check_project(request.caller, view->project)) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no view '{}'", request.parameter("view")));
  }
  return json_response(dump(render_view(*view)));
}

Result<Response> put_view(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"id", "name", "project", "view"}));
  store::View view;
  view.id = request.parameter("view");
  view.name = KEDGE_TRY(find_text(json, "name")).value_or(view.id);
  view.project = KEDGE_TRY(find_text(json, "project")).value_or("");
  view.view = json.value("view", nlohmann::json::object());
  KEDGE_TRY(api.store.put_view(view, api.now_us()));
  api.audit(request, "view.put", view.id, {{"name", view.name}});
  return json_response(dump(render_view(view)));
}

Result<Response> delete_view(const Api& api, const Request& request) {
  if (!KEDGE_TRY(api.store.delete_view(request.parameter("view")))) {
    return fail(ErrorKind::NotFound,
                fmt::format("there is no view '{}'", request.parameter("view")));
  }
  api.audit(request, "view.delete", request.parameter("view"));
  return Response{.status = 204};
}

Result<Response> list_audit(const Api& api, const Request& request) {
  const std::int64_t limit = KEDGE_TRY(request.query_number("limit", 100));
  if (limit < 0 || limit > kMaxAuditLines) {
    return fail(ErrorKind::Usage, fmt::format("limit is 0 to {}", kMaxAuditLines));
  }
  nlohmann::json list = nlohmann::json::array();
  for (const store::AuditLine& line :
       KEDGE_TRY(api.store.list_audit(static_cast<std::size_t>(limit)))) {
    list.push_back({{"time_us", line.time_us},
                    {"who", line.who},
                    {"what", line.what},
                    {"target", line.target},
                    {"detail", line.detail}});
  }
  return json_response(dump({{"audit", std::move(list)}}));
}

}  // namespace

void add_view_routes(Router& router, const Api& api) {
  const auto add = [&](Method method, std::string pattern, RouteOptions options,
                       Result<Response> (*handler)(const Api&, const Request&)) {
    router.add(method, std::move(pattern), options,
               [&api, handler](const Request& request) { return handler(api, request); });
  };
  const std::string view = "/api/v1/views/{view}";
  add(Method::Get, "/api/v1/views", {.is_scoped = true}, list_views);
  add(Method::Get, view, {.is_scoped = true}, get_view);
  add(Method::Put, view, {.role = Role::Write}, put_view);
  add(Method::Delete, view, {.role = Role::Write}, delete_view);
  add(Method::Get, "/api/v1/audit", {.role = Role::Admin}, list_audit);
}

}  // namespace kedge::server
