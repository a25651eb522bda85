// Which tensor went wrong first, when a loss is NaN or infinite.
#pragma once

#include <string_view>

#include "core/result.h"
#include "nn/model.h"
#include "train/inputs.h"

namespace kedge::train {

// `when` is what was found not to be finite. Inputs may be empty. Reads the device, slowly.
Error describe_nonfinite(nn::Model& model, const Inputs& inputs, std::string_view when);

}  // namespace kedge::train
