#include "nn/internal/image_layers.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/norm_over_ranks.h"

namespace kedge::nn {

Conv2d::Conv2d(const Making& making, const ConvShape& shape)
    : Layer(making), window_(shape.window) {
  add_parameter("weight", weight,
                torch::empty({shape.out, shape.in, window_.kernel, window_.kernel}, options()));
  if (shape.has_bias) {
    add_parameter("bias", bias, torch::empty({shape.out}, options()));
  }
  init_like_torch(weight, bias);
}

at::Tensor Conv2d::apply(const at::Tensor& x, const at::Tensor& added) const {
  return torch::conv2d(x, weight, added, window_.stride, window_.padding);
}

Flow PooledConv::forward(const Flow& flow) const {
  return {torch::max_pool2d(rectified(Conv2d::forward(flow.x)), 2)};
}

BatchNorm2d::BatchNorm2d(const Making& making, std::int64_t channels, NormOptions options)
    : Layer(making), options_(options) {
  add_parameter("weight", weight, torch::ones({channels}, this->options()));
  add_parameter("bias", bias, torch::zeros({channels}, this->options()));
  add_buffer("running_mean", running_mean, torch::zeros({channels}, this->options()));
  add_buffer("running_var", running_var, torch::ones({channels}, this->options()));
  add_buffer("num_batches_tracked", num_batches_tracked,
             torch::zeros({}, this->options().dtype(at::kLong)));
}

// Undefined where it cannot be fused. Statistics of all ranks' batches are not taken by one kernel,
// and no gradient goes through the running ones.
at::Tensor BatchNorm2d::try_fused(device::NormStep step) {
  step.is_training = is_training();
  if (context().fused == nullptr ||
      (step.is_training ? bool(context().norm_sum) : at::GradMode::is_enabled())) {
    return {};
  }
  step.weight = weight;
  step.bias = bias;
  step.running_mean = running_mean;
  step.running_var = running_var;
  step.batches = num_batches_tracked;
  step.momentum = options_.momentum;
  step.eps = options_.eps;
  return context().fused->norm(step);
}

at::Tensor BatchNorm2d::plain(const at::Tensor& x) {
  if (is_training() && context().norm_sum) {
    return plain_over_ranks(x);
  }
  if (is_training()) {
    TORCH_CHECK(x.numel() != x.size(1),
                "Expected more than 1 value per channel when training, got input size ", x.sizes());
    num_batches_tracked += 1;
  }
  return torch::batch_norm(x, weight, bias, running_mean, running_var, is_training(),
                           options_.momentum, options_.eps, at::globalContext().userEnabledCuDNN());
}

at::Tensor BatchNorm2d::plain_over_ranks(const at::Tensor& x) {
  const NormedOverRanks normed = norm_over_ranks(context().norm_sum, x, weight, bias, options_.eps);
  const torch::NoGradGuard no_grad;
  num_batches_tracked += 1;
  const at::Tensor unbiased = normed.variance * (normed.count / (normed.count - 1).clamp_min(1));
  running_mean.lerp_(normed.mean.to(running_mean.scalar_type()), options_.momentum);
  running_var.lerp_(unbiased.to(running_var.scalar_type()), options_.momentum);
  return normed.y;
}

at::Tensor BatchNorm2d::forward(const at::Tensor& x) {
  at::Tensor y = try_fused({.x = x});
  return y.defined() ? y : plain(x);
}

at::Tensor BatchNorm2d::forward_relu(const at::Tensor& x, const at::Tensor& shortcut) {
  if (at::Tensor y = try_fused({.x = x, .shortcut = shortcut, .activation = Activation::Relu});
      y.defined()) {
    return y;
  }
  at::Tensor y = plain(x);
  return rectified(shortcut.defined() ? y.add_(shortcut) : y);
}

at::Tensor BatchNorm2d::forward_gelu(const at::Tensor& x) {
  at::Tensor y = try_fused({.x = x, .activation = Activation::Gelu});
  return y.defined() ? y : torch::gelu(plain(x));
}

at::Tensor BatchNorm2d::forward_conv_relu_pool(const Conv2d& conv, const at::Tensor& x) {
  if (context().fused != nullptr && is_training() && conv.bias.defined()) {
    if (at::Tensor y = try_fused({.x = conv.forward_without_bias(x),
                                  .input_bias = conv.bias,
                                  .activation = Activation::Relu,
                                  .pool = true});
        y.defined()) {
      return y;
    }
  }
  return torch::max_pool2d(rectified(plain(conv.forward(x))), 2);
}

at::Tensor max_pool(const device::Context& context, const at::Tensor& x) {
  if (context.fused != nullptr) {
    if (at::Tensor y = context.fused->max_pool(x); y.defined()) {
      return y;
    }
  }
  return torch::max_pool2d(x, 2);
}

}  // namespace kedge::nn
