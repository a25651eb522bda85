// Losses by name. Each takes scores and targets: int64 class numbers [N], or for soft targets
// float probabilities [N, classes].
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/registry.h"
#include "device/context.h"

namespace kedge::nn {

// Targets of this value count for nothing, as in PyTorch.
inline constexpr std::int64_t kIgnoredTarget = -100;

class Loss {
 public:
  virtual ~Loss() = default;

  // The mean over the targets that count, as a scalar tensor on the scores' device; not a number
  // where none does. Asked from the thread that trains, inside a captured step too: it reads
  // nothing back.
  virtual at::Tensor operator()(const at::Tensor& scores, const at::Tensor& targets) const = 0;
};

// A loss is one file in nn/losses/, registered by name. It keeps the context, which is asked for
// fused operations.
using Losses = Registry<Loss, config::LossConfig, device::ContextPtr>;

}  // namespace kedge::nn
