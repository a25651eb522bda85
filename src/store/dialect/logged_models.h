// Logged models: what a run has saved as a model, with parameters, tags and what was measured of
// it, on which data. A registered version may point to one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/store.h"

namespace kedge::store {

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

struct ModelMetric {
  std::string model_id = {};
  std::string key = {};
  double value = 0;
  std::int64_t time_ms = 0;
  std::int64_t step = 0;
  std::string dataset_name = {};
  std::string dataset_digest = {};
  std::string run_id = {};  // who measured
};

class LoggedModels {
 public:
  explicit LoggedModels(Store& store) : store_(store) {}

  Result<void> add(const LoggedModel& model);
  // Nothing when there is none; one in the trash is found.
  Result<std::optional<LoggedModel>> find(const std::string& id) const;
  // NotFound when there is none. An error of `edit` changes nothing.
  Result<LoggedModel> edit(const std::string& id,
                           const std::function<Result<void>(LoggedModel&)>& edit,
                           std::int64_t now_us);
  // Of one project, without those in the trash.
  Result<std::vector<LoggedModel>> list(std::int64_t project) const;

  // The same point again changes nothing. Models that are not known are passed over: the run has
  // its metric all the same.
  void add_metrics(const std::string& run_id, std::vector<ModelMetric> metrics, Done<void> done);
  // In order of key, step and time.
  Result<std::vector<ModelMetric>> metrics(const std::string& id) const;

 private:
  Store& store_;
};

}  // namespace kedge::store
