#include "mlflow/routes.h"

#include <memory>
#include <utility>

#include "core/log.h"
#include "mlflow/internal/artifact_parts.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {

GraphqlAnswer add_routes(http::Router& router, const server::Api& api, const Options& options) {
  auto state = std::make_shared<State>(api, options.artifact_root, options.takes_parts);
  if (auto loaded = state->links.load(); !loaded) {
    warn("the inputs of MLflow's runs cannot be read: {}", loaded.error().message);
  }
  Calls calls(router, api, state);
  add_log_calls(calls);
  add_run_calls(calls);
  add_tag_calls(calls);
  add_experiment_calls(calls);
  add_search_calls(calls);
  add_history_calls(calls);
  add_input_calls(calls);
  add_artifact_calls(calls);
  add_artifact_part_calls(calls);
  add_artifact_view_calls(calls);
  add_logged_model_calls(calls);
  calls.leave_projects();
  add_registered_model_calls(calls);
  add_model_version_calls(calls);
  add_user_calls(calls);
  add_info_calls(calls);
  add_absent_calls(calls);  // answers for every path that nobody took
  return make_graphql_answer(api, std::move(state));
}

}  // namespace kedge::mlflow
