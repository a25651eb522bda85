// The metrics of logged models: what a run measured of one, on which data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace kedge::mlflow {

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

// The same point again changes nothing. Models that are not known are passed over: the run has its
// metric all the same.
void add_model_metrics(store::Store& store, const std::string& run_id,
                       std::vector<ModelMetric> metrics, store::Done<void> done);

// Of one model, in order of key, step and time.
Result<std::vector<ModelMetric>> list_model_metrics(store::Database& database,
                                                    const std::string& model_id);

}  // namespace kedge::mlflow
