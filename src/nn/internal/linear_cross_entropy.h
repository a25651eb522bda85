// The cross-entropy of a model's last layer without all of its scores at once: a stretch of rows
// after the other is scored, judged and turned into gradients.
#pragma once

#include <cstdint>

#include "device/context.h"
#include "nn/model_input.h"

namespace kedge::nn {

inline constexpr std::int64_t kScoresAtOnce = std::int64_t{1} << 27U;  // 256 MiB in bfloat16

struct EntropyOptions {
  double smoothing = 0;
  double z_loss = 0;  // of the squared log of a row's sum of exponentials
  device::FusedOps* fused = nullptr;
  std::int64_t scores_at_once = kScoresAtOnce;
};

// Whether the scores would be so many that it pays. Fp16 is left out: its loss scale would come
// after the gradients have been computed here.
bool pays_in_stretches(const Head& head, const device::Context& context);

// The mean over the targets that count (kIgnoredTarget does not), as cross_entropy_loss() of
// features weight^T. Differentiable once.
at::Tensor linear_cross_entropy(const Head& head, const at::Tensor& targets,
                                const EntropyOptions& options);

}  // namespace kedge::nn
