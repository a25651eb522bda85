// `kedge predict`: a trained model on an image, a folder of images, or the records of a JSONL file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct PredictOptions {
  Path model;  // a run or checkpoint folder
  Path input;
  Path output;  // .csv or .jsonl; empty: CSV on stdout
  std::int64_t top_k = 5;
  std::int64_t batch_size = 100;
  std::vector<std::string> overrides;  // of the config the model was trained with
};

// Rows are appended batch by batch; run again, it goes on after the last whole row.
Result<void> run_predict(const PredictOptions& options);

}  // namespace kedge::use
