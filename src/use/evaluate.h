// `kedge eval`: a trained model measured on data, as a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"
#include "train/evaluator.h"
#include "train/saved_model.h"

namespace kedge::use {

struct EvaluateOptions {
  Path model;                          // a run or checkpoint folder
  std::vector<std::string> overrides;  // of the config the model was trained with
  bool on_train_split = false;         // the training split instead of the validation split
  bool as_json = false;
};

// The report goes to stdout.
Result<void> run_evaluate(const EvaluateOptions& options);

struct Measured {
  train::Evaluation evaluation;
  std::int64_t samples = 0;
};

// A model on the data of `saved`, prepared as its training prepared it.
Result<Measured> measure_model(nn::Model& model, const train::SavedModel& saved,
                               bool on_train_split);

}  // namespace kedge::use
