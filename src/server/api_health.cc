#include "server/api.h"
#include "server/embedded.h"

namespace kedge::server {

void add_health_routes(Router& router) {
  router.add(Method::Get, "/health", {.role = Role::None}, [](const Request&) -> Result<Response> {
    Response response{.body = std::string("OK")};  // what MLflow's server says, too
    response.headers.add("Content-Type", "text/plain; charset=utf-8");
    return response;
  });
  router.add(Method::Get, "/api/v1/openapi.json", {.role = Role::None},
             [](const Request&) -> Result<Response> {
               Response response;
               response.headers.add("Content-Type", "application/json");
               response.body = openapi_text();
               return response;
             });
}

}  // namespace kedge::server
