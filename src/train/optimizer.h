// An Optimizer changes parameters by their gradients. Its state is a list of named tensors, so
// that a checkpoint can hold it; the learning rate comes in with each step from the schedule.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/registry.h"
#include "nn/model.h"

namespace kedge::train {

// Parameters that share a weight decay.
struct ParameterGroup {
  nn::NamedTensors parameters;
  double weight_decay = 0;
};

using ParameterGroups = std::vector<ParameterGroup>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update from the gradients. Parameters without a gradient are left alone.
  virtual void step(double lr) = 0;

  // Every tensor a resumed run needs, by name ("exp_avg.layer1.0.conv1.weight", "step"). The
  // tensors are live: a loader copies into them.
  virtual nn::NamedTensors state() = 0;
};

// An optimizer is one file in train/optimizers/, registered by name.
using Optimizers = Registry<Optimizer, config::OptimizerConfig, ParameterGroups>;

// The model's trainable parameters, in one group, or in two where only matrices decay.
ParameterGroups group_parameters(const nn::Model& model, const config::OptimizerConfig& config);

}  // namespace kedge::train
