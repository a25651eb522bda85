// The weights that a training begins with.
#pragma once

#include "config/config.h"
#include "core/result.h"

namespace kedge::train {

// The model's section with their file, if there is one, in `weights`. `is_first`: says what may
// surprise.
Result<config::ModelConfig> find_first_weights(const config::Config& config, bool is_first);

}  // namespace kedge::train
