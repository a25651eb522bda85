// BatchNorm that in training takes the statistics of all ranks' batches together where norm_sum()
// is set; else it is torch::nn::BatchNorm2d.
#pragma once

#include <torch/nn/modules/batchnorm.h>

namespace kedge::nn {

at::Tensor batch_norm(torch::nn::BatchNorm2dImpl& norm, const at::Tensor& input);

// For a Sequential, which calls its modules itself.
class BatchNorm2dImpl : public torch::nn::BatchNorm2dImpl {
 public:
  using torch::nn::BatchNorm2dImpl::BatchNorm2dImpl;

  // Hides the one of the parent, which is not virtual: the Sequential holds this type.
  at::Tensor forward(const at::Tensor& input) { return batch_norm(*this, input); }
};

TORCH_MODULE(BatchNorm2d);

}  // namespace kedge::nn
