// The random number generators that training draws from: dropout, mixup, weight initialisation.
// The order of samples and their augmentation need none: they are functions of the position.
#pragma once

#include "checkpoint/tensor_file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::train {

// Copies: "cpu", and "cuda" where the device is one.
nn::NamedTensors random_state(at::Device device);

// A generator that `saved` does not have, because it was saved on another device, stays as it is.
Result<void> restore_random_state(const checkpoint::TensorFile& saved, at::Device device);

}  // namespace kedge::train
