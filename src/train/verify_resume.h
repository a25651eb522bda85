// `kedge verify-resume`: does a training that is saved, ended and restored in a fresh process go
// on exactly as one that was never interrupted?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::train {

struct VerifyOptions {
  std::vector<std::string> train_args;  // config file and overrides, as the user gave them
  std::int64_t steps = 20;              // before the save, and again after it
  std::vector<std::string> dropped;     // pieces of the state to forget on purpose
  bool as_json = false;
};

// Three processes: one trains 2 * steps, one trains `steps` and saves, one goes on from there.
// Corrupt, naming the first value that differs, when they do not end alike. The runs lie in a
// temporary folder that is removed afterwards; the report goes to standard output.
Result<void> run_verify_resume(const VerifyOptions& options);

}  // namespace kedge::train
