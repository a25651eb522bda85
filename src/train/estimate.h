// `kedge ckpt estimate`: what checkpoints of a config will take, before any training.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "core/file.h"
#include "core/result.h"
#include "core/units.h"

namespace kedge::train {

struct EstimateOptions {
  std::vector<Path> folders;  // storage to measure, besides the run folder and the fast one
  std::vector<Bytes> speeds;  // per second, to reckon with
  bool as_json = false;
};

// Makes the model and the optimizer to count their bytes, and writes a little to each folder to
// see how fast it is.
Result<void> run_estimate(const config::LoadedConfig& config, const EstimateOptions& options);

}  // namespace kedge::train
