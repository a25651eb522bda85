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

// Makes everything that a training would make, to count its bytes, and writes at most 256 MiB to
// each folder, in a file without a name, to see how fast it is; no run folder is made. Prints to
// standard output. Usage: a value of the config or a folder cannot be had; Io: nothing can be
// written there.
Result<void> run_estimate(const config::LoadedConfig& config, const EstimateOptions& options);

}  // namespace kedge::train
