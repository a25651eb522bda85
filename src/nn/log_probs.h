// How likely a model finds given tokens, without having the scores of all its vocabulary for all
// of them at once.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/model_input.h"

namespace kedge::nn {

// The logarithms of the targets' probabilities among the head's scores, 0 where a target is
// kIgnoredTarget: float32 (float64 of such features), in the targets' shape. The backward pass
// computes the scores again, `scores_at_once` of them; differentiable once.
at::Tensor log_probs(const Head& head, const at::Tensor& targets,
                     std::int64_t scores_at_once = std::int64_t{1} << 26U);

}  // namespace kedge::nn
