// Puts a checkpoint's tensors back into the live ones of a training.
#pragma once

#include <string_view>

#include "checkpoint/tensor_file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::train {

// Null when the file has none of that name.
const checkpoint::TensorView* find_tensor(const checkpoint::TensorFile& file,
                                          std::string_view name);

// Every live tensor must be in the file, with its shape; none is changed when one is not.
Result<void> copy_into(const nn::NamedTensors& live, const checkpoint::TensorFile& file);

}  // namespace kedge::train
