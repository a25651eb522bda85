// A Model is a network by name: parameters, buffers and a forward pass. The room knows shapes
// and weights, never data sets, optimizers or the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model_config.h"
#include "core/registry.h"
#include "core/result.h"

namespace kedge::nn {

// What goes in and what must come out.
struct Task {
  std::int64_t height = 0;  // images
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t classes = 0;
  std::int64_t context = 0;  // tokens; 0 for images
  std::int64_t vocab = 0;

  bool is_language() const { return context > 0; }
};

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

class Model {
 public:
  virtual ~Model() = default;

  // Images: float [N, C, H, W] to scores [N, classes]. Tokens: int64 [N, T] to [N, T, vocab].
  virtual at::Tensor forward(const at::Tensor& input) = 0;

  // Names as in the PyTorch original, so that its weights load. Shared tensors are listed once.
  virtual NamedTensors parameters() const = 0;
  virtual NamedTensors buffers() const = 0;

  // How many training images the model wants to see before it learns, and where it sees them, as
  // forward() gets them. Not for a model whose weights come from elsewhere.
  virtual std::int64_t wants_images() const { return 0; }

  virtual void look_at(const at::Tensor& /*images*/) {}

  virtual void set_training(bool is_training) = 0;
  virtual void to(at::Device device) = 0;

  // Floating-point parameters and buffers change their type (pure bf16 training).
  virtual void to(at::ScalarType type) = 0;

  // The name prefix of the last layer ("fc."), replaced when the class count differs.
  virtual std::string head() const = 0;
};

// A model is one file in nn/models/, registered by name. Initial weights come from torch's global
// generator: seed it first.
using Models = Registry<Model, config::ModelConfig, Task>;

// The model that the config names, or the TorchScript file it points to.
Result<std::unique_ptr<Model>> make_model(const config::ModelConfig& config, const Task& task);

std::int64_t count_parameters(const Model& model);

}  // namespace kedge::nn
