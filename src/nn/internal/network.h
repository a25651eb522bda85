// A Network is an architecture in torch::nn terms; make_network_model turns it into a Model.
// Forward passes use no sizes of their input as numbers (flatten(1), unflatten, expand_as), because
// tracing would freeze them and the exported network would take one batch size only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <torch/nn/module.h>

#include "nn/model.h"

namespace kedge::nn {

class Network : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& input) = 0;

  // See nn/model.h.
  virtual std::int64_t wants_images() const { return 0; }

  virtual void look_at(const at::Tensor& /*images*/) {}
};

// ReLU in place: the layers before it need their input for the gradient, not their output.
inline at::Tensor rectified(at::Tensor x) {
  return x.relu_();
}

// `head` is the name prefix of the last layer, with its dot.
std::unique_ptr<Model> make_network_model(std::shared_ptr<Network> network, std::string head);

// Each tensor once, under the first of its names.
NamedTensors without_repeats(NamedTensors tensors);

// Floating-point tensors change their type in place, so that optimizers keep hold of them.
void convert_floats(const NamedTensors& tensors, at::ScalarType type);

}  // namespace kedge::nn
