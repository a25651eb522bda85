// GraphQL as MLflow's page asks it: each field of Query and Mutation is a call, its input the
// call's fields, its answer the call's message.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "graphql/execute.h"
#include "graphql/schema.h"
#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/graphql_limits.h"
#include "mlflow/internal/graphql_messages.h"
#include "mlflow/internal/state.h"
#include "mlflow/routes.h"

namespace kedge::mlflow {

// One request. A field that fails is null and says why in the answer's errors; the others go on.
struct Asker {
  const server::Api& api;
  State& state;
  const http::Request& request;
  std::vector<std::string>& errors;

  std::optional<Message> ask(CallHandler handler, nlohmann::json input) const;
};

namespace {

using graphql::Args;
using graphql::make_node;
using graphql::make_node_or_null;
using graphql::TypeBuilder;
using graphql::Value;
using http::Response;
using nlohmann::json;

struct Echo {
  std::string text;
};

// The registry is nobody's project, as its calls of REST say of themselves.
Outcome<Response> search_versions(const Call& call) {
  if (!call.request.caller.project.empty()) {
    return refuse(Code::PermissionDenied, "this key is for one project; the registry is for all");
  }
  return search_model_versions(call);
}

template <CallHandler handler>
Value answer_field(const Asker& asker, const Args& args) {
  return make_node_or_null(asker.ask(handler, args.value("input")));
}

Value echo(const Asker& /*asker*/, const Args& args) {
  return make_node(Echo{args.text("inputString").value_or("")});
}

void declare_roots(graphql::Schema& schema) {
  TypeBuilder<Echo>(schema, "Test").leaf("output", [](const Echo& told) { return told.text; });
  TypeBuilder<Asker>(schema, "Query")
      .object("test", "Test", echo)
      .object("mlflowGetExperiment", "MlflowGetExperimentResponse", answer_field<get_experiment>)
      .object("mlflowGetRun", "MlflowGetRunResponse", answer_field<get_run>)
      .object("mlflowSearchRuns", "MlflowSearchRunsResponse", answer_field<search_runs>)
      .object("mlflowGetMetricHistoryBulkInterval", "MlflowGetMetricHistoryBulkIntervalResponse",
              answer_field<get_metric_interval>)
      .object("mlflowListArtifacts", "MlflowListArtifactsResponse", answer_field<list_artifacts>)
      .object("mlflowSearchModelVersions", "MlflowSearchModelVersionsResponse",
              answer_field<search_versions>);
  // They change nothing; MLflow has them here all the same.
  TypeBuilder<Asker>(schema, "Mutation")
      .object("testMutation", "Test", echo)
      .object("mlflowSearchDatasets", "MlflowSearchDatasetsResponse", answer_field<search_datasets>)
      .object("mlflowSearchRuns", "MlflowSearchRunsResponse", answer_field<search_runs>);
  TypeBuilder<Message>(schema, "MlflowRun")
      .object("experiment", "MlflowExperiment",
              [](const Message& run) -> Value {
                const auto answer = run.asker->ask(
                    get_experiment, {{"experiment_id", run.part("info").text("experiment_id")}});
                return answer ? Value(make_node(answer->part("experiment"))) : Value(json());
              })
      .object("modelVersions", "MlflowModelVersion", [](const Message& run) -> Value {
        const std::string id = run.part("info").text("run_id");
        const auto answer = run.asker->ask(search_versions, {{"filter", "run_id='" + id + "'"}});
        return answer ? make_messages(*answer, "model_versions") : Value(json());
      });
}

// W&B's documents come to the same address and have no such fields.
bool is_ours(const graphql::Question& question) {
  const auto fields = fields_of_level(question.document, question.operation().selections);
  return std::ranges::any_of(fields, [](const graphql::Selection* field) {
    return field->name.starts_with("mlflow") || field->name == "test" ||
           field->name == "testMutation";
  });
}

json answer_question(const graphql::Schema& schema, const Asker& asker,
                     const graphql::Question& question) {
  if (auto excess = find_excess(question.document)) {
    asker.errors.push_back(std::move(*excess));
    return {};
  }
  auto data = graphql::execute(
      {schema, question.document, question.operation(), question.variables,
       graphql::Node{typeid(Asker), std::shared_ptr<const void>(&asker, [](const void*) {})}});
  if (!data) {
    asker.errors.push_back(data.error().message);
    return {};
  }
  return std::move(*data);
}

}  // namespace

std::optional<Message> Asker::ask(CallHandler handler, json input) const {
  const Fields fields(input.is_object() ? std::move(input) : json::object());
  auto response = handler({.api = api, .state = state, .request = request, .fields = fields});
  if (!response) {
    // One word for a list of which no entry may be seen.
    if (errors.empty() || errors.back() != response.error().message) {
      errors.push_back(response.error().message);
    }
    return std::nullopt;
  }
  const auto* text = std::get_if<std::string>(&response->body);
  KEDGE_CHECK(text != nullptr, "a call that GraphQL asks answers with a text");
  return Message{this, std::make_shared<const json>(json::parse(*text))};
}

GraphqlAnswer make_graphql_answer(const server::Api& api, std::shared_ptr<State> state) {
  const auto schema = std::make_shared<graphql::Schema>();
  declare_messages(*schema);
  declare_roots(*schema);
  return [&api, state = std::move(state), schema](
             const http::Request& request,
             const graphql::Question& question) -> std::optional<Response> {
    if (!is_ours(question)) {
      return std::nullopt;
    }
    std::vector<std::string> errors;
    json data = answer_question(*schema, {api, *state, request, errors}, question);
    return reply({{"data", std::move(data)}, {"errors", errors.empty() ? json() : json(errors)}});
  };
}

}  // namespace kedge::mlflow
