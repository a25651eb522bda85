#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/runs.h"
#include "mlflow/internal/state.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;

constexpr std::size_t kMostExperiments = 20;
constexpr std::size_t kMostSummaries = 1000;

Outcome<store::DatasetInput> read_input(const Fields& fields) {
  const auto dataset = KEDGE_TRY(fields.find_object("dataset"));
  if (!dataset) {
    return std::unexpected(missing(fields.path_of("dataset")));
  }
  store::DatasetInput input;
  input.dataset = {.name = KEDGE_TRY(dataset->need_text("name")),
                   .digest = KEDGE_TRY(dataset->need_text("digest")),
                   .source_type = KEDGE_TRY(dataset->text("source_type")),
                   .source = KEDGE_TRY(dataset->text("source")),
                   .schema = KEDGE_TRY(dataset->text("schema")),
                   .profile = KEDGE_TRY(dataset->text("profile"))};
  KEDGE_TRY(check_length(input.dataset.name, 500, "name"));
  KEDGE_TRY(check_length(input.dataset.digest, 36, "digest"));
  KEDGE_TRY(check_length(input.dataset.source, 65'535, "source"));
  KEDGE_TRY(check_length(input.dataset.schema, 1'048'575, "schema"));
  KEDGE_TRY(check_length(input.dataset.profile, 16'777'215, "profile"));
  input.tags = KEDGE_TRY(fields.key_values("tags"));
  for (const auto& [key, value] : input.tags) {
    KEDGE_TRY(check_length(key, 255, "key"));
    KEDGE_TRY(check_length(value, 500, "value"));
  }
  return input;
}

Outcome<std::vector<store::ModelLink>> read_models(const Fields& fields) {
  std::vector<store::ModelLink> models;
  for (const Fields& entry : KEDGE_TRY(fields.items("models"))) {
    models.push_back({.model_id = KEDGE_TRY(entry.need_text("model_id")),
                      .step = KEDGE_TRY(entry.find_integer("step")).value_or(0)});
  }
  return models;
}

Outcome<Response> log_inputs(const Call& call) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  KEDGE_TRY(check_run_id(id));
  store::RunLinks links;
  for (const Fields& entry : KEDGE_TRY(call.fields.items("datasets"))) {
    links.datasets.push_back(KEDGE_TRY(read_input(entry)));
  }
  links.inputs = KEDGE_TRY(read_models(call.fields));
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  KEDGE_TRY(call.state.links.add(run.key, links));
  return reply_empty();
}

nlohmann::json render_summary(const store::GivenDataset& given) {
  nlohmann::json entry = {{"experiment_id", std::to_string(given.project)},
                          {"name", given.name},
                          {"digest", given.digest}};
  for (const auto& [key, value] : given.tags) {
    if (key == "mlflow.data.context" && !value.empty()) {
      entry["context"] = value;
    }
  }
  return entry;
}

Outcome<Response> log_outputs(const Call& call) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  if (!call.fields.has("models")) {
    return std::unexpected(missing("models"));
  }
  const store::RunLinks links{.outputs = KEDGE_TRY(read_models(call.fields))};
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  KEDGE_TRY(call.state.links.add(run.key, links));
  return reply_empty();
}

}  // namespace

Outcome<http::Response> search_datasets(const Call& call) {
  const auto ids = KEDGE_TRY(call.fields.texts("experiment_ids"));
  if (ids.empty()) {
    return refuse("SearchDatasets request must specify at least one experiment_id.");
  }
  if (ids.size() > kMostExperiments) {
    return refuse(
        fmt::format("SearchDatasets request cannot specify more than {} experiment_ids. "
                    "Received {} experiment_ids.",
                    kMostExperiments, ids.size()));
  }
  std::set<nlohmann::json> seen;
  nlohmann::json body = nlohmann::json::object();
  for (const std::string& id : ids) {
    const auto project = load_experiment(call, id);
    if (!project) {
      continue;
    }
    for (const store::GivenDataset& given : KEDGE_TRY(call.state.links.datasets(project->id))) {
      nlohmann::json entry = render_summary(given);
      if (seen.size() < kMostSummaries && seen.insert(entry).second) {
        body["dataset_summaries"].push_back(std::move(entry));
      }
    }
  }
  return reply(body);
}

void add_input_calls(Calls& calls) {
  calls.write(Method::Post, "runs/log-inputs", log_inputs);
  calls.write(Method::Post, "runs/outputs", log_outputs);
  calls.read(Method::Post, "experiments/search-datasets", search_datasets);
}

}  // namespace kedge::mlflow
