// Losses by name. Each takes scores and targets: int64 class numbers [N], or for soft targets
// float probabilities [N, classes].
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/train_config.h"
#include "core/registry.h"
#include "device/context.h"
#include "nn/model_input.h"

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

  // The same of the scores that the head's last layer would give, without having them all at once;
  // undefined where that does not pay, or is not known for this loss.
  virtual at::Tensor of_head(const Head& /*head*/, const at::Tensor& /*targets*/) const {
    return {};
  }
};

// A loss is one file in nn/losses/, registered by name. It keeps the context, which is asked for
// fused operations.
using Losses = Registry<Loss, config::LossConfig, device::ContextPtr>;

}  // namespace kedge::nn
