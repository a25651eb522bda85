// Weights from files into models: safetensors, PyTorch state dicts and kedge checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::nn {

struct WeightsReport {
  std::int64_t loaded = 0;
  std::vector<std::string> new_head;  // left as initialised, because the class count differs
  std::vector<std::string> unused;    // in the file, not in the model
};

// Copies every tensor of the file into the model. Prefixes ("module.", "model.", "_orig_mod.")
// are seen through; a head of another size is left new; anything else that does not fit is an
// error that names the tensor and both shapes.
Result<WeightsReport> load_weights(Model& model, const Path& file);

// Freezes the parameters whose names match any pattern (* and ?); returns how many. A pattern that
// matches nothing is an error.
Result<std::int64_t> freeze(Model& model, const std::vector<std::string>& patterns);

}  // namespace kedge::nn
