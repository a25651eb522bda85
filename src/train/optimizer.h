// An Optimizer changes parameters by their gradients. Its state is a list of named tensors, so
// that a checkpoint can hold it; the learning rate comes in with each step from the schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/registry.h"
#include "device/fused_ops.h"
#include "nn/model.h"

namespace kedge::train {

// Parameters that share a weight decay.
struct ParameterGroup {
  nn::NamedTensors parameters;
  double weight_decay = 0;
  nn::WeightNames names = {};         // of the model: which are its head and its tables
  device::FusedOps* fused = nullptr;  // null: plain operations
};

using ParameterGroups = std::vector<ParameterGroup>;

// The learning rate of a step: a number, and on a GPU the same as a tensor there, which a captured
// step reads anew each time it is replayed.
struct Rate {
  double value = 0;
  at::Tensor on_device = {};  // float, zero-dimensional
  // Where it holds 1 the step must change nothing: a loss scale was too large.
  std::optional<at::Tensor> found_inf = {};

  Rate(double lr) : value(lr) {}  // NOLINT(google-explicit-constructor): a number is a rate

  Rate times(double factor) const;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update from the gradients, which must be unscaled and finite. Parameters without a
  // gradient are left alone. Never waits for the device.
  virtual void step(const Rate& rate) = 0;

  // Whether a step depends on nothing of the host's but its arguments, so that it can be captured.
  virtual bool can_capture() const { return true; }

  // Whether Rate::found_inf is obeyed.
  virtual bool can_skip_on_device() const { return false; }

  // Every tensor a resumed run needs, by name ("exp_avg.layer1.0.conv1.weight", "step"). All exist
  // from the start and are live: a loader copies into them, and the next steps are then
  // bit-identical to those of the optimizer that was saved.
  virtual nn::NamedTensors state() = 0;
};

// An optimizer is one file in train/optimizers/, registered by name. It is made after the model
// has its final device and type, because its state is made like the parameters.
using Optimizers = Registry<Optimizer, config::OptimizerConfig, ParameterGroups>;

// The model's trainable parameters, in one group, or in two where only matrices decay.
ParameterGroups group_parameters(const nn::Model& model, const config::OptimizerConfig& config);

// The optimizer that the config names, over the model's trainable parameters.
Result<std::unique_ptr<Optimizer>> make_optimizer(const nn::Model& model,
                                                  const config::OptimizerConfig& config,
                                                  device::FusedOps* fused = nullptr);

}  // namespace kedge::train
