#include "nn/internal/targets.h"

#include <torch/types.h>

namespace kedge::nn {

Rows as_rows(const at::Tensor& scores, const at::Tensor& targets) {
  if (scores.dim() == 2) {
    return {scores, targets};
  }
  return {scores.flatten(0, -2),
          targets.is_floating_point() ? targets.flatten(0, -2) : targets.flatten()};
}

}  // namespace kedge::nn
