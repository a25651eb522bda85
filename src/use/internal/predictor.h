// A Predictor answers for items with a model that was trained for one task; it is registered under
// that task's name, one file in use/predictors/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/registry.h"
#include "device/context.h"
#include "train/saved_model.h"
#include "use/internal/predict_items.h"

namespace kedge::use {

// One item's answer, or why there is none.
struct Answer {
  std::vector<std::string> cells = {};               // as many as there are columns, or fewer
  nlohmann::json fields = nlohmann::json::object();  // the same for a JSON record
  std::string error = {};
};

class Predictor {
 public:
  virtual ~Predictor() = default;

  virtual ItemKind takes() const = 0;
  virtual std::vector<std::string> columns() const = 0;

  // One answer an item, in their order.
  virtual std::vector<Answer> answer(std::span<const PredictItem> items) = 0;
};

// `saved` must outlive the predictor; its model is on the context's device.
struct PredictorParts {
  train::SavedModel& saved;
  device::Context context;
  std::int64_t top_k = 1;
};

using Predictors = Registry<Predictor, PredictorParts>;

}  // namespace kedge::use
