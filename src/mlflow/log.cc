#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/names.h"
#include "mlflow/internal/python_text.h"
#include "mlflow/internal/runs.h"
#include "mlflow/internal/tags.h"
#include "store/dialect/logged_models.h"

namespace kedge::mlflow {
namespace {

constexpr std::size_t kMostMetrics = 1000;
constexpr std::size_t kMostParams = 100;
constexpr std::size_t kMostTags = 100;
constexpr std::size_t kMostTogether = 1000;

struct Metrics {
  std::vector<store::LogPoint> points;
  std::vector<store::ModelMetric> of_models;  // the same, where a logged model is named
};

// What one batch changes in a run.
struct Batch {
  Metrics metrics = {};
  KeyValues params = {};
  KeyValues tags = {};
  ParamCall call = ParamCall::Batch;
};

Outcome<void> check_metric(const store::LogPoint& point, std::int64_t timestamp,
                           const std::string& place) {
  KEDGE_TRY(check_key(point.key, place + "name"));
  KEDGE_TRY(check_length(point.key, kMaxKey, "Metric name"));
  if (timestamp < 0) {
    return refuse(
        fmt::format("Invalid value {} for parameter '{}timestamp' supplied: metric '{}' "
                    "(value={}). Timestamp must be a nonnegative long (64-bit integer) ",
                    timestamp, place, point.key, python_float(point.value)));
  }
  return {};
}

Outcome<void> read_metric(const Fields& fields, const std::string& place, Metrics& metrics) {
  store::LogPoint point;
  point.key = KEDGE_TRY(fields.need_text("key"));
  point.value = KEDGE_TRY(fields.need_number("value"));
  const std::int64_t timestamp = KEDGE_TRY(fields.need_integer("timestamp"));
  point.step = KEDGE_TRY(fields.find_integer("step")).value_or(0);
  KEDGE_TRY(check_metric(point, timestamp, place));
  point.time_us = from_ms(timestamp);
  if (const std::string model = KEDGE_TRY(fields.text("model_id")); !model.empty()) {
    metrics.of_models.push_back({.model_id = model,
                                 .key = point.key,
                                 .value = point.value,
                                 .time_ms = timestamp,
                                 .step = point.step,
                                 .dataset_name = KEDGE_TRY(fields.text("dataset_name")),
                                 .dataset_digest = KEDGE_TRY(fields.text("dataset_digest"))});
  }
  metrics.points.push_back(std::move(point));
  return {};
}

// What nearly all metrics look like: four fields of the usual types. False: look closer.
bool read_plain_metric(const nlohmann::json& json, Metrics& metrics) {
  if (!json.is_object()) {
    return false;
  }
  store::LogPoint point;
  std::int64_t timestamp = -1;
  for (auto field = json.begin(); field != json.end(); ++field) {
    const std::string& name = field.key();
    const nlohmann::json& value = field.value();
    if (name == "key" && value.is_string()) {
      point.key = value.get_ref<const std::string&>();
    } else if (name == "value" && value.is_number()) {
      point.value = value.get<double>();
    } else if (name == "timestamp" && value.is_number_integer()) {
      timestamp = value.get<std::int64_t>();
    } else if (name == "step" && value.is_number_integer()) {
      point.step = value.get<std::int64_t>();
    } else if (name != "run_id") {
      return false;
    }
  }
  if (point.key.empty() || timestamp < 0 || !json.contains("value") ||
      !check_metric(point, timestamp, {})) {
    return false;
  }
  point.time_us = from_ms(timestamp);
  metrics.points.push_back(std::move(point));
  return true;
}

Outcome<Metrics> read_metrics(const Fields& fields) {
  Metrics metrics;
  const auto found = fields.object().find("metrics");
  if (found != fields.object().end() && found->is_array()) {
    metrics.points.reserve(found->size());
    bool is_plain = true;
    for (const nlohmann::json& entry : *found) {
      is_plain = is_plain && read_plain_metric(entry, metrics);
    }
    if (is_plain) {
      return metrics;
    }
  }
  metrics = {};
  for (const Fields& entry : KEDGE_TRY(fields.items("metrics"))) {
    KEDGE_TRY(read_metric(entry, fmt::format("metrics[{}].", metrics.points.size()), metrics));
  }
  return metrics;
}

Outcome<void> check_count(std::size_t count, std::size_t most, std::string_view what) {
  if (count > most) {
    return refuse(
        fmt::format("A batch logging request can contain at most {} {}. Got {} {}. Please "
                    "split up {} across multiple requests and try again.",
                    most, what, count, what, what));
  }
  return {};
}

Error as_error(const Fault& fault) {
  return {ErrorKind::Usage, fault.message};
}

Outcome<void> as_outcome(Result<void> done) {
  return done ? Outcome<void>() : std::unexpected(Fault(done.error()));
}

// Metrics, once what may refuse the whole batch is written.
void log_metrics(const server::Api& api, const store::RunKey& key, Metrics metrics,
                 const Finish& finish) {
  auto of_models = std::move(metrics.of_models);
  const auto logged = [&api, key, of_models = std::move(of_models),
                       finish](const Result<std::uint64_t>& count) mutable {
    if (!count) {
      finish(std::unexpected(Fault(count.error())));
    } else if (of_models.empty()) {
      finish({});
    } else {
      store::LoggedModels(api.store).add_metrics(
          key.id, std::move(of_models),
          [finish](Result<void> done) { finish(as_outcome(std::move(done))); });
    }
  };
  if (metrics.points.empty()) {
    finish({});
    return;
  }
  api.store.log(key, std::move(metrics.points), api.now_us(), logged);
}

void write_batch(const server::Api& api, const store::RunKey& key, Batch batch, Finish finish) {
  if (batch.params.empty() && batch.tags.empty()) {
    log_metrics(api, key, std::move(batch.metrics), finish);
    return;
  }
  auto shared = std::make_shared<Batch>(std::move(batch));
  const auto edit = [shared](const store::Run& run) -> Result<store::RunPatch> {
    store::RunPatch patch;
    auto config = params_patch(run, shared->params, shared->call);
    if (!config) {
      return std::unexpected(as_error(config.error()));
    }
    if (!config->empty()) {
      patch.config = std::move(*config);
    }
    for (const auto& [name, value] : shared->tags) {
      set_tag(patch, name, value);
    }
    return patch;
  };
  const auto edited = [&api, key, shared, finish = std::move(finish)](Result<void> run) {
    if (!run) {
      finish(std::unexpected(Fault(run.error())));
      return;
    }
    log_metrics(api, key, std::move(shared->metrics), finish);
  };
  api.store.edit_run(key, edit, api.now_us(), edited);
}

Outcome<void> log_metric(const Call& call, Finish finish) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  Batch batch;
  KEDGE_TRY(read_metric(call.fields, {}, batch.metrics));
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  write_batch(call.api, run.key, std::move(batch), std::move(finish));
  return {};
}

Outcome<void> log_parameter(const Call& call, Finish finish) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  const std::string key = KEDGE_TRY(call.fields.need_text("key"));
  const std::string value = KEDGE_TRY(call.fields.text("value"));
  KEDGE_TRY(check_key(key, "key"));
  KEDGE_TRY(check_length(key, kMaxKey, "Param key"));
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  Batch batch{.params = {{key, cut(value, kMaxParamValue)}}, .call = ParamCall::One};
  write_batch(call.api, run.key, std::move(batch), std::move(finish));
  return {};
}

Outcome<void> log_batch(const Call& call, Finish finish) {
  const std::string id = KEDGE_TRY(call.fields.need_run_id());
  KEDGE_TRY(check_run_id(id));
  Batch batch;
  batch.metrics = KEDGE_TRY(read_metrics(call.fields));
  const std::size_t metrics = batch.metrics.points.size();
  KEDGE_TRY(check_count(metrics, kMostMetrics, "metrics"));
  batch.params = KEDGE_TRY(read_params(call.fields, "params"));
  KEDGE_TRY(check_count(batch.params.size(), kMostParams, "params"));
  batch.tags = KEDGE_TRY(read_tags(call.fields, "tags"));
  KEDGE_TRY(check_count(batch.tags.size(), kMostTags, "tags"));
  KEDGE_TRY(check_count(metrics + batch.params.size() + batch.tags.size(), kMostTogether,
                        "metrics, params, and tags"));
  const LoadedRun run = KEDGE_TRY(load_active_run(call, id));
  write_batch(call.api, run.key, std::move(batch), std::move(finish));
  return {};
}

}  // namespace

void add_log_calls(Calls& calls) {
  calls.write_quick("runs/log-metric", log_metric);
  calls.write_quick("runs/log-batch", log_batch);
  calls.write_quick("runs/log-parameter", log_parameter);
}

}  // namespace kedge::mlflow
