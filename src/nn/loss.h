// Losses by name. Each takes scores and targets: int64 class numbers [N], or for soft targets
// float probabilities [N, classes].
#pragma once

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/registry.h"
#include "device/context.h"

namespace kedge::nn {

class Loss {
 public:
  virtual ~Loss() = default;

  // The mean over the batch, as a scalar tensor on the scores' device.
  virtual at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const = 0;
};

// A loss is one file in nn/losses/, registered by name. It keeps the context, which is asked for
// fused operations.
using Losses = Registry<Loss, config::LossConfig, device::ContextPtr>;

}  // namespace kedge::nn
