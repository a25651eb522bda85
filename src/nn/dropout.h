// Which models take model.dropout. For the others a probability would change nothing, so that it is
// a mistake of the user's, and told.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "config/model_config.h"

namespace kedge::nn {

// Stands beside the Models::Add of models that read the key.
struct TakesDropout {
  TakesDropout(std::initializer_list<std::string_view> models);
};

std::vector<std::string_view> models_with_dropout();  // sorted

// Whether a probability is set that the model, or the TorchScript file, has no use for.
bool is_dropout_ignored(const config::ModelConfig& config);

}  // namespace kedge::nn
