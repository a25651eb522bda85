// `kedge eval`: a trained model measured on data, as a report.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::train {

struct EvaluateOptions {
  Path model;                          // a run or checkpoint folder
  std::vector<std::string> overrides;  // of the config the model was trained with
  bool on_train_part = false;          // the training part instead of the validation part
  bool as_json = false;
};

// The report goes to stdout.
Result<void> run_evaluate(const EvaluateOptions& options);

}  // namespace kedge::train
