// `kedge ensemble`: several trained models used as one, measured beside its members. Two ways: the
// mean of their probabilities, and one model whose weights are the mean of theirs.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct EnsembleOptions {
  std::vector<Path> models;            // run or checkpoint folders
  std::vector<std::string> overrides;  // of the configs that they were trained with
  bool on_train_split = false;         // the training split instead of the validation split
  Path output = {};                    // a .safetensors file for the mean weights; empty: none
  bool as_json = false;
};

// The report goes to stdout.
Result<void> run_ensemble(const EnsembleOptions& options);

}  // namespace kedge::use
