#include "mlflow/internal/graphql_messages.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace kedge::mlflow {
namespace {

using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

enum class Kind : std::uint8_t { Text, Texts, Long, Number, Flag, Enum, One, Many };

struct Field {
  const char* name;
  Kind kind = Kind::Text;
  const char* type = "";  // of One and Many
};

// "experimentId" is experiment_id.
std::string name_in_message(std::string_view name) {
  std::string snake;
  for (const char c : name) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    snake += is_capital ? "_" : "";
    snake += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return snake;
}

const json& find(const json& body, const std::string& name) {
  static const json kNull;
  const auto found = body.find(name);
  return found == body.end() ? kNull : *found;
}

std::string long_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "0" : value.dump();
}

// What protocol buffers say where nothing was set. NaN is a text in a message, and null here.
json leaf_of(const json& value, Kind kind) {
  switch (kind) {
    case Kind::Text:
      return value.is_null() ? json("") : value;
    case Kind::Texts:
      return value.is_null() ? json::array() : value;
    case Kind::Long:
      return long_text(value);
    case Kind::Number:
      return value.is_null() ? json(0.0) : value.is_number() ? value : json();
    case Kind::Flag:
      return value.is_null() ? json(false) : value;
    default:
      return value;
  }
}

void declare(graphql::Schema& schema, const char* type, std::initializer_list<Field> fields) {
  TypeBuilder<Message> builder(schema, type);
  for (const Field& field : fields) {
    const std::string name = name_in_message(field.name);
    if (field.kind == Kind::One) {
      builder.object(field.name, field.type, [name](const Message& message) {
        return graphql::make_node(message.part(name.c_str()));
      });
    } else if (field.kind == Kind::Many) {
      builder.object(field.name, field.type, [name](const Message& message) {
        return make_messages(message, name.c_str());
      });
    } else {
      builder.leaf(field.name, [name, kind = field.kind](const Message& message) {
        return leaf_of(find(*message.body, name), kind);
      });
    }
  }
}

// Every answer may say so; here errors stand beside the data.
void declare_answer(graphql::Schema& schema, const char* type,
                    std::initializer_list<Field> fields) {
  declare(schema, type, fields);
  TypeBuilder<Message>(schema, type).object("apiError", "ApiError", [](const Message&) {
    return Value(json());
  });
}

void declare_pair(graphql::Schema& schema, const char* type) {
  declare(schema, type, {{"key"}, {"value"}});
}

void declare_experiments(graphql::Schema& schema) {
  declare_pair(schema, "MlflowExperimentTag");
  declare(schema, "MlflowExperiment",
          {{"experimentId"},
           {"name"},
           {"artifactLocation"},
           {"lifecycleStage"},
           {"lastUpdateTime", Kind::Long},
           {"creationTime", Kind::Long},
           {"tags", Kind::Many, "MlflowExperimentTag"},
           {"effectiveTraceArchivalRetention"},
           {"workspace"}});
  declare_answer(schema, "MlflowGetExperimentResponse",
                 {{"experiment", Kind::One, "MlflowExperiment"}});
  declare(schema, "MlflowDatasetSummary", {{"experimentId"}, {"name"}, {"digest"}, {"context"}});
  declare_answer(schema, "MlflowSearchDatasetsResponse",
                 {{"datasetSummaries", Kind::Many, "MlflowDatasetSummary"}});
}

void declare_run_parts(graphql::Schema& schema) {
  for (const char* pair : {"MlflowInputTag", "MlflowRunTag", "MlflowParam"}) {
    declare_pair(schema, pair);
  }
  declare(schema, "MlflowModelOutput", {{"modelId"}, {"step", Kind::Long}});
  declare(schema, "MlflowRunOutputs", {{"modelOutputs", Kind::Many, "MlflowModelOutput"}});
  declare(schema, "MlflowModelInput", {{"modelId"}});
  declare(schema, "MlflowDataset",
          {{"name"}, {"digest"}, {"sourceType"}, {"source"}, {"schema"}, {"profile"}});
  declare(schema, "MlflowDatasetInput",
          {{"tags", Kind::Many, "MlflowInputTag"}, {"dataset", Kind::One, "MlflowDataset"}});
  declare(schema, "MlflowRunInputs",
          {{"datasetInputs", Kind::Many, "MlflowDatasetInput"},
           {"modelInputs", Kind::Many, "MlflowModelInput"}});
  declare(schema, "MlflowMetric",
          {{"key"},
           {"value", Kind::Number},
           {"timestamp", Kind::Long},
           {"step", Kind::Long},
           {"datasetName"},
           {"datasetDigest"},
           {"modelId"},
           {"runId"}});
  declare(schema, "MlflowRunData",
          {{"metrics", Kind::Many, "MlflowMetric"},
           {"params", Kind::Many, "MlflowParam"},
           {"tags", Kind::Many, "MlflowRunTag"}});
  declare(schema, "MlflowRunInfo",
          {{"runId"},
           {"runUuid"},
           {"runName"},
           {"experimentId"},
           {"userId"},
           {"status", Kind::Enum},
           {"startTime", Kind::Long},
           {"endTime", Kind::Long},
           {"artifactUri"},
           {"lifecycleStage"}});
}

void declare_runs(graphql::Schema& schema) {
  declare_run_parts(schema);
  declare(schema, "MlflowRun",
          {{"info", Kind::One, "MlflowRunInfo"},
           {"data", Kind::One, "MlflowRunData"},
           {"inputs", Kind::One, "MlflowRunInputs"},
           {"outputs", Kind::One, "MlflowRunOutputs"}});
  declare_answer(schema, "MlflowGetRunResponse", {{"run", Kind::One, "MlflowRun"}});
  declare_answer(schema, "MlflowSearchRunsResponse",
                 {{"runs", Kind::Many, "MlflowRun"}, {"nextPageToken"}});
  declare(schema, "MlflowMetricWithRunId",
          {{"key"},
           {"value", Kind::Number},
           {"timestamp", Kind::Long},
           {"step", Kind::Long},
           {"runId"}});
  declare_answer(schema, "MlflowGetMetricHistoryBulkIntervalResponse",
                 {{"metrics", Kind::Many, "MlflowMetricWithRunId"}});
  declare(schema, "MlflowFileInfo", {{"path"}, {"isDir", Kind::Flag}, {"fileSize", Kind::Long}});
  declare_answer(schema, "MlflowListArtifactsResponse",
                 {{"rootUri"}, {"files", Kind::Many, "MlflowFileInfo"}, {"nextPageToken"}});
}

void declare_model_versions(graphql::Schema& schema) {
  declare_pair(schema, "MlflowModelVersionTag");
  declare(schema, "MlflowModelParam", {{"name"}, {"value"}});
  declare(schema, "MlflowModelVersionDeploymentJobState",
          {{"jobId"},
           {"runId"},
           {"jobState", Kind::Enum},
           {"runState", Kind::Enum},
           {"currentTaskName"}});
  declare(schema, "MlflowModelVersion",
          {{"name"},
           {"version"},
           {"creationTimestamp", Kind::Long},
           {"lastUpdatedTimestamp", Kind::Long},
           {"userId"},
           {"currentStage"},
           {"description"},
           {"source"},
           {"runId"},
           {"status", Kind::Enum},
           {"statusMessage"},
           {"tags", Kind::Many, "MlflowModelVersionTag"},
           {"runLink"},
           {"aliases", Kind::Texts},
           {"modelId"},
           {"modelParams", Kind::Many, "MlflowModelParam"},
           {"modelMetrics", Kind::Many, "MlflowMetric"},
           {"deploymentJobState", Kind::One, "MlflowModelVersionDeploymentJobState"}});
  declare_answer(schema, "MlflowSearchModelVersionsResponse",
                 {{"modelVersions", Kind::Many, "MlflowModelVersion"}, {"nextPageToken"}});
}

}  // namespace

Message Message::part(const char* name) const {
  static const auto kEmpty = std::make_shared<const json>(json::object());
  const auto found = body->find(name);
  const bool is_there = found != body->end() && found->is_object();
  return {asker, is_there ? std::shared_ptr<const json>(body, &*found) : kEmpty};
}

std::string Message::text(const char* name) const {
  const json& value = find(*body, name);
  return value.is_string() ? value.get<std::string>() : "";
}

Value make_messages(const Message& whole, const char* name) {
  std::vector<Message> messages;
  if (const auto found = whole.body->find(name); found != whole.body->end()) {
    for (const json& item : *found) {
      messages.push_back({whole.asker, std::shared_ptr<const json>(whole.body, &item)});
    }
  }
  return graphql::make_nodes(std::move(messages));
}

void declare_messages(graphql::Schema& schema) {
  declare(schema, "ErrorDetail", {{"field"}, {"message"}});
  declare(schema, "ApiError",
          {{"code"},
           {"message"},
           {"helpUrl"},
           {"traceId"},
           {"errorDetails", Kind::Many, "ErrorDetail"}});
  declare_experiments(schema);
  declare_runs(schema);
  declare_model_versions(schema);
}

}  // namespace kedge::mlflow
