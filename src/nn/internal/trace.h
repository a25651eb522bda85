// A Model's forward pass as a TorchScript module, recorded once in evaluation mode.
#pragma once

#include "nn/model.h"

namespace torch::jit {
struct Module;
}

namespace kedge::nn {

// Shares the model's tensors. Throws what libtorch throws.
torch::jit::Module trace(Model& model, const Signature& signature);

}  // namespace kedge::nn
