// `kedge merge`: low-rank adapters into the weights that they stand beside.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct MergeOptions {
  Path model;             // a run with adapters; with `adapter`, the model that they are for
  Path adapter = {};      // a folder of PEFT's
  Path output;            // a folder that is not there yet
  std::string type = {};  // of the weights that are written; empty: as the base has them
  Path probe = {};        // a text that answers are compared on; empty: one of our own
  bool as_json = false;
  std::vector<std::string> overrides = {};
};

// Writes a folder that transformers loads, after it has compared what the model answers before and
// after. Usage: there are no adapters, or merging them changes no weight.
Result<void> run_merge(const MergeOptions& options);

}  // namespace kedge::use
