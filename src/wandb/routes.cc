#include "wandb/routes.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/log.h"
#include "graphql/document.h"
#include "graphql/execute.h"
#include "graphql/schema.h"
#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/blob_names.h"
#include "wandb/internal/call.h"
#include "wandb/internal/links.h"
#include "wandb/internal/nodes.h"
#include "wandb/internal/page_calls.h"
#include "wandb/internal/stream.h"
#include "wandb/internal/sweep_nodes.h"

namespace kedge::wandb {
namespace {

using http::Method;
using http::Request;
using http::Response;
using nlohmann::json;

// `wandb verify` sends 10 MB; history comes in pieces of at most 10 MiB.
constexpr std::uint64_t kMaxBody = 64ULL << 20U;
constexpr std::uint64_t kMaxFile = 1ULL << 40U;

// What outlives requests.
struct Dialect {
  Dialect(const server::Api& server_api, Links made, OtherDialect asked)
      : api(server_api), links(std::move(made)), other(std::move(asked)) {
    declare_viewer(schema);
    declare_projects(schema);
    declare_runs(schema);
    declare_run_changes(schema);
    declare_run_files(schema);
    declare_run_history(schema);
    declare_artifacts(schema);
    declare_artifact_collections(schema);
    declare_artifact_lists(schema);
    declare_artifact_uploads(schema);
    declare_artifact_changes(schema);
    declare_sweeps(schema);
    declare_sweep_changes(schema);
  }

  const server::Api& api;
  Links links;
  OtherDialect other;
  graphql::Schema schema;
};

// Clients look for errors[0].message, and try again for ever what is answered with 5xx.
Response render_refusal(int status, const http::Refusal& refusal) {
  const std::string message =
      refusal.hint.empty() ? refusal.message : refusal.message + "; " + refusal.hint;
  const json body = {{"errors", json::array({{{"message", message}}})}, {"error", message}};
  return http::json_response(body.dump(-1, ' ', false, json::error_handler_t::replace), status);
}

Result<Response> answer_graphql(const Dialect& dialect, const Request& request) {
  const auto question =
      KEDGE_TRY(graphql::parse_question(KEDGE_TRY(server::parse_object(request))));
  if (dialect.other) {
    if (auto answer = dialect.other(request, question)) {
      return std::move(*answer);
    }
  }
  const graphql::Operation& operation = question.operation();
  if (operation.is_mutation && request.caller.role < http::Role::Write) {
    return render_refusal(403, {"this key may read, and change nothing", ""});
  }
  const Call call{dialect.api, dialect.links, request};
  auto data = graphql::execute(
      {dialect.schema, question.document, operation, question.variables,
       graphql::Node{typeid(Call), std::shared_ptr<const void>(&call, [](const void*) {})}});
  if (!data) {
    // Which call it was: the address is the same for all.
    warn("wandb: {}: {}", operation.name.empty() ? "a request" : operation.name,
         data.error().message);
    return std::unexpected(std::move(data).error());
  }
  const json answer = {{"data", std::move(*data)}};
  return http::json_response(answer.dump(-1, ' ', false, json::error_handler_t::replace));
}

using Answer = Result<Response> (*)(const Call& call);

void add(http::Router& router, const std::shared_ptr<const Dialect>& dialect, Method method,
         std::string pattern, http::RouteOptions options, Answer answer) {
  options.refuse = render_refusal;
  router.add(method, std::move(pattern), options, [dialect, answer](const Request& request) {
    return answer({dialect->api, dialect->links, request});
  });
}

}  // namespace

void add_routes(http::Router& router, const server::Api& api, OtherDialect other) {
  auto links = Links::open(api.store);
  if (!links) {
    warn("wandb: {}: its clients are not answered", links.error().message);
    return;
  }
  const auto dialect = std::make_shared<const Dialect>(api, std::move(*links), std::move(other));
  router.add(Method::Post, "/graphql",
             {.role = http::Role::View,
              .max_body_bytes = kMaxBody,
              .is_scoped = true,
              .refuse = render_refusal},
             [dialect](const Request& request) { return answer_graphql(*dialect, request); });
  add(router, dialect, Method::Post, "/files/{entity}/{project}/{run}/file_stream",
      {.role = http::Role::Write, .max_body_bytes = kMaxBody}, take_stream);
  add(router, dialect, Method::Put, "/wandb/bytes/{token}/{name}",
      {.role = http::Role::None, .max_body_bytes = kMaxFile, .is_scoped = true, .is_spooled = true},
      put_signed);
  add(router, dialect, Method::Get, "/wandb/bytes/{token}/{name}",
      {.role = http::Role::None, .is_scoped = true}, get_signed);
  // Where clients look for an artifact's file when its signed address failed.
  add(router, dialect, Method::Get,
      "/artifactsV2/{region}/{entity}/{project}/{collection}/{birth}/{digest}/{name}", {},
      get_by_digest);
  const http::RouteOptions read = {.role = http::Role::View, .is_scoped = true};
  add(router, dialect, Method::Get, "/wandb/panels/{project}/{run}", read, list_panels);
  add(router, dialect, Method::Get, "/wandb/artifacts/{client}", read, find_client_artifact);
}

}  // namespace kedge::wandb
