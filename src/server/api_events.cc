#include <utility>

#include "server/internal/routes.h"

namespace kedge::server {
namespace {

Result<http::Response> send_events(const Api& api, const http::Request& request,
                                   const Input& input) {
  const http::Caller& caller = request.caller;
  EventFilter filter;
  filter.project = input.value("project", caller.project);
  filter.run = input.value("run", caller.run);
  KEDGE_TRY(check_project(caller, filter.project, filter.run));
  http::Response response;
  response.headers.add("Content-Type", "text/event-stream");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("X-Accel-Buffering", "no");  // nginx would hold events back
  response.body = http::PushStart([&api, filter](std::shared_ptr<http::PushStream> stream) {
    return api.events.subscribe(filter, std::move(stream));
  });
  return response;
}

}  // namespace

void add_event_routes(Routes& routes) {
  routes.name("RunChange", R"({
    project: string,
    id: string,
    what: ('facts' | 'metrics' | 'console' | 'records' | 'files' | 'deleted')[],
    last_step?: integer,
  })");
  routes.add(http::Method::Get, "/api/v1/events",
             {.summary = "What changes, as server-sent events: each has a RunChange",
              .options = {.is_scoped = true},
              .query = "{project?: string, run?: string}",
              .other_types = {"text/event-stream"}},
             send_events);
}

}  // namespace kedge::server
