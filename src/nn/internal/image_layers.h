// Layers of networks for images, with what stands around them fused where the device can.
#pragma once

#include <cstdint>

#include "nn/internal/shape.h"
#include "nn/layers.h"

namespace kedge::nn {

// ReLU in place: the layers before it need their input for the gradient, not their output.
inline at::Tensor rectified(at::Tensor x) {
  return x.relu_();
}

struct ConvShape {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Window window = {};
  bool has_bias = true;
};

// With torch.nn.Conv2d's initial weights.
class Conv2d : public Layer {
 public:
  Conv2d(const Making& making, const ConvShape& shape);

  at::Tensor forward(const at::Tensor& x) const { return apply(x, bias); }

  // A norm takes the bias away again: adding it and summing its gradient would be for nothing.
  at::Tensor forward_without_bias(const at::Tensor& x) const { return apply(x, {}); }

  at::Tensor weight;  // [out, in, kernel, kernel]
  at::Tensor bias;    // [out], or undefined

 private:
  at::Tensor apply(const at::Tensor& x, const at::Tensor& added) const;

  Window window_;
};

// max_pool(relu(conv(x))), over fields of 2 x 2.
class PooledConv : public Conv2d {
 public:
  using Conv2d::Conv2d;

  Flow forward(const Flow& flow) const;
};

struct NormOptions {
  double momentum = 0.1;
  double eps = 1e-5;
};

// Batch normalisation. In training it takes the statistics of this rank's batch, or of all ranks'
// where the context says how to sum them.
class BatchNorm2d : public Layer {
 public:
  BatchNorm2d(const Making& making, std::int64_t channels, NormOptions options = {});

  // norm(x).
  at::Tensor forward(const at::Tensor& x);

  // relu(norm(x) + shortcut); `shortcut` may be undefined.
  at::Tensor forward_relu(const at::Tensor& x, const at::Tensor& shortcut = {});

  // gelu(norm(x)).
  at::Tensor forward_gelu(const at::Tensor& x);

  // max_pool(relu(norm(conv(x)))), over fields of 2 x 2.
  at::Tensor forward_conv_relu_pool(const Conv2d& conv, const at::Tensor& x);

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor num_batches_tracked;

 private:
  at::Tensor try_fused(device::NormStep step);
  at::Tensor plain(const at::Tensor& x);
  at::Tensor plain_over_ranks(const at::Tensor& x);

  NormOptions options_;
};

// The maximum of fields of 2 x 2.
at::Tensor max_pool(const device::Context& context, const at::Tensor& x);

}  // namespace kedge::nn
