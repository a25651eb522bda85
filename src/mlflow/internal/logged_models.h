// Logged models: what a run has saved as a model, with parameters, tags and what was measured of
// it. They have tables of their own; a registered version may point to one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mlflow/internal/call.h"
#include "mlflow/internal/model_metrics.h"
#include "store/store.h"

namespace kedge::mlflow {

enum class ModelStatus : std::uint8_t { Unspecified, Pending, Ready, UploadFailed };

struct LoggedModel {
  std::string id = {};  // "m-" and 32 hex digits
  std::int64_t project = 0;
  std::string name = {};
  std::string type = {};
  std::string source_run = {};
  ModelStatus status = ModelStatus::Pending;
  std::int64_t created_us = 0;
  std::int64_t changed_us = 0;
  std::int64_t deleted_us = 0;
  std::map<std::string, std::string> tags = {};
  std::map<std::string, std::string> params = {};
};

class LoggedModels {
 public:
  explicit LoggedModels(store::Store& store) : store_(store) {}

  Result<void> add(const LoggedModel& model);
  // Nothing when there is none; one in the trash is found.
  Result<std::optional<LoggedModel>> find(const std::string& id) const;
  // NotFound when there is none. An error of `edit` changes nothing.
  Result<LoggedModel> edit(const std::string& id,
                           const std::function<Result<void>(LoggedModel&)>& edit,
                           std::int64_t now_us);
  // Of one project, without those in the trash.
  Result<std::vector<LoggedModel>> list(std::int64_t project) const;
  Result<std::vector<ModelMetric>> metrics(const std::string& id) const;

 private:
  store::Store& store_;
};

// `Logged model with ID 'X' not found.`; one in the trash is not found, unless `is_deleted_fine`.
Outcome<LoggedModel> load_logged_model(const Call& call, const std::string& id,
                                       bool is_deleted_fine = false);
Outcome<std::string> model_artifact_uri(const Call& call, const LoggedModel& model);
Outcome<nlohmann::json> render_logged_model(const Call& call, const LoggedModel& model);

}  // namespace kedge::mlflow
