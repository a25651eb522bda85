#include <utility>

#include "server/api.h"

namespace kedge::server {

void add_event_routes(Router& router, const Api& api) {
  router.add(Method::Get, "/api/v1/events", {.is_scoped = true},
             [&api](const Request& request) -> Result<Response> {
               const Caller& caller = request.caller;
               EventFilter filter;
               filter.project = request.query_value("project").value_or(caller.project);
               filter.run = request.query_value("run").value_or(caller.run);
               KEDGE_TRY(check_project(caller, filter.project, filter.run));
               Response response;
               response.headers.add("Content-Type", "text/event-stream");
               response.headers.add("Cache-Control", "no-store");
               response.headers.add("X-Accel-Buffering", "no");  // nginx would hold events back
               response.body = PushStart([&api, filter](std::shared_ptr<PushStream> stream) {
                 return api.events.subscribe(filter, std::move(stream));
               });
               return response;
             });
}

}  // namespace kedge::server
