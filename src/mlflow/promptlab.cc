// A run out of one prompt that was tried by hand: its parameters, its answer as a table, and a
// model that MLflow's clients can load.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "mlflow/internal/artifact_files.h"
#include "mlflow/internal/asked_calls.h"
#include "mlflow/internal/call.h"
#include "mlflow/internal/experiments.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/runs.h"
#include "mlflow/internal/tags.h"
#include "mlflow/internal/traces.h"
#include "track/names.h"

namespace kedge::mlflow {
namespace {

using nlohmann::json;
using server::Method;
using server::Response;

struct Prompt {
  std::string experiment;
  std::string text;
  KeyValues parameters;
  std::string route;
  std::string input;
  std::string version;  // of MLflow
  KeyValues model_parameters = {};
  std::string output = {};
  KeyValues output_parameters = {};
};

Fault lacks(const char* name) {
  return {Code::InvalidParameterValue,
          fmt::format("CreatePromptlabRun request must specify {}.", name)};
}

Outcome<std::string> need(const Fields& fields, const char* name) {
  std::string text = KEDGE_TRY(fields.text(name));
  if (text.empty()) {
    return std::unexpected(lacks(name));
  }
  return text;
}

// In the order in which MLflow asks for what is missing.
Outcome<Prompt> read_prompt(const Fields& fields) {
  Prompt prompt;
  prompt.experiment = KEDGE_TRY(need(fields, "experiment_id"));
  prompt.text = KEDGE_TRY(need(fields, "prompt_template"));
  prompt.parameters = KEDGE_TRY(fields.key_values("prompt_parameters"));
  if (prompt.parameters.empty()) {
    return std::unexpected(lacks("prompt_parameters"));
  }
  prompt.route = KEDGE_TRY(need(fields, "model_route"));
  prompt.input = KEDGE_TRY(need(fields, "model_input"));
  prompt.version = KEDGE_TRY(need(fields, "mlflow_version"));
  prompt.model_parameters = KEDGE_TRY(read_params(fields, "model_parameters"));
  prompt.output = KEDGE_TRY(fields.text("model_output"));
  prompt.output_parameters = KEDGE_TRY(fields.key_values("model_output_parameters"));
  return prompt;
}

json object_of_pairs(const KeyValues& pairs) {
  json object = json::object();
  for (const auto& [key, value] : pairs) {
    object[key] = value;
  }
  return object;
}

// One row: what went into the prompt, the prompt, what came out.
json render_table(const Prompt& prompt) {
  json columns = json::array();
  json row = json::array();
  const auto add = [&](const std::string& name, const std::string& value) {
    columns.push_back(name);
    row.push_back(value);
  };
  for (const auto& [key, value] : prompt.parameters) {
    add(key, value);
  }
  add("prompt", prompt.input);
  add("output", prompt.output);
  for (const auto& [key, value] : prompt.output_parameters) {
    add(key, value);
  }
  return {{"columns", std::move(columns)}, {"data", json::array({std::move(row)})}};
}

json render_column(const std::string& name) {
  return {{"name", name}, {"type", "string"}, {"required", true}};
}

// The file MLmodel is YAML, and JSON is YAML.
json render_mlmodel(const Prompt& prompt, const std::string& run_id, std::int64_t now_ms) {
  json inputs = json::array();
  for (const auto& [key, value] : prompt.parameters) {
    inputs.push_back(render_column(key));
  }
  std::string created = render_time(now_ms);  // 2026-01-31T12:00:00.000Z
  created[created.find('T')] = ' ';
  created.pop_back();
  return {{"artifact_path", "model"},
          {"run_id", run_id},
          {"utc_time_created", created},
          {"mlflow_version", prompt.version},
          {"model_uuid", make_id()},
          {"signature",
           {{"inputs", server::dump(inputs)},
            {"outputs", server::dump(json::array({render_column("output")}))}}},
          {"flavors",
           {{"python_function",
             {{"loader_module", "mlflow.prompt.promptlab_model"},
              {"parameters_path", "parameters.yaml"}}}}}};
}

Outcome<store::RunPatch> read_run(const Call& call, const Prompt& prompt, const json& model) {
  store::RunPatch patch;
  KeyValues params = prompt.model_parameters;
  params.emplace_back("model_route", prompt.route);
  params.emplace_back("prompt_template", prompt.text);
  for (const auto& [key, value] : params) {
    patch.config[key] = parse_param(value);
  }
  patch.labels = {
      {"mlflow.loggedArtifacts", R"([{"path": "eval_results_table.json", "type": "table"}])"},
      {"mlflow.runSourceType", "PROMPT_ENGINEERING"},
      {"mlflow.log-model.history", server::dump(json::array({model}))}};
  for (const auto& [tag, value] : KEDGE_TRY(read_tags(call.fields, "tags"))) {
    set_tag(patch, tag, value);
  }
  const std::string name = KEDGE_TRY(call.fields.text("run_name"));
  patch.name = name.empty() ? track::make_run_name() : name;
  patch.user = KEDGE_TRY(call.fields.text("user_id"));
  patch.source = "mlflow";
  patch.state = store::RunState::Running;
  const auto start = KEDGE_TRY(call.fields.find_integer("start_time"));
  patch.created_us = start ? from_ms(*start) : call.api.now_us();
  return patch;
}

Outcome<void> put_text(const Call& call, const std::string& uri, const char* path,
                       const std::string& text) {
  const FilePlace place = KEDGE_TRY(locate_uri(call, uri, path));
  KEDGE_TRY(put_blob(call, place, [&] { return call.api.blobs.put(text); }));
  return {};
}

Outcome<void> put_files(const Call& call, const std::string& uri, const Prompt& prompt,
                        const json& model) {
  const json parameters = {{"prompt_template", prompt.text},
                           {"prompt_parameters", object_of_pairs(prompt.parameters)},
                           {"model_parameters", object_of_pairs(prompt.model_parameters)},
                           {"model_route", prompt.route}};
  KEDGE_TRY(put_text(call, uri, "model/MLmodel", server::dump(model)));
  KEDGE_TRY(put_text(call, uri, "model/parameters.yaml", server::dump(parameters)));
  KEDGE_TRY(put_text(call, uri, "model/requirements.txt",
                     fmt::format("mlflow[gateway]=={}", prompt.version)));
  return put_text(call, uri, "eval_results_table.json", server::dump(render_table(prompt)));
}

Outcome<Response> create_promptlab_run(const Call& call) {
  const Prompt prompt = KEDGE_TRY(read_prompt(call.fields));
  const auto project = KEDGE_TRY(load_experiment(call, prompt.experiment));
  KEDGE_TRY(check_active(project));
  const std::int64_t now_us = call.api.now_us();
  const store::RunKey key{project.name, make_id()};
  const json model = render_mlmodel(prompt, key.id, to_ms(now_us));
  const store::RunPatch patch = KEDGE_TRY(read_run(call, prompt, model));
  KEDGE_TRY(call.api.store.create_run(key, patch, now_us));
  // As MLflow does: what could not be written fails the run, and the call tells of it all the same.
  const auto put = put_files(call, artifact_uri(project, key.id), prompt, model);
  if (!put) {
    warn("the files of MLflow's promptlab run {} cannot be kept: {}", key.id, put.error().message);
  }
  KEDGE_TRY(call.api.store.patch_run(
      key, {.state = put ? store::RunState::Finished : store::RunState::Failed, .ended_us = now_us},
      now_us));
  const Fields asked(json{{"run_id", key.id}});
  return get_run({call.api, call.state, call.request, asked});
}

}  // namespace

void add_promptlab_calls(Calls& calls) {
  calls.write(Method::Post, "runs/create-promptlab-run", create_promptlab_run);
}

}  // namespace kedge::mlflow
