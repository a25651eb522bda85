#include "nn/signature.h"

#include <torch/types.h>

namespace kedge::nn {

at::Tensor Signature::zeros(std::int64_t batch) const {
  return takes_tokens() ? torch::zeros({batch, context}, torch::kInt64)
                        : torch::zeros({batch, channels, height, width});
}

std::vector<std::int64_t> Signature::scores_shape(std::int64_t batch) const {
  return classes > 0 ? std::vector<std::int64_t>{batch, classes}
                     : std::vector<std::int64_t>{batch, context, vocab};
}

}  // namespace kedge::nn
