#include "nn/internal/layers.h"

#include "nn/internal/batch_norm.h"
#include "nn/internal/network.h"
#include "nn/norm_sync.h"

namespace kedge::nn {
namespace {

// Undefined where it cannot be fused. Statistics of the batch are only taken in training, and those
// of all ranks' batches not by one kernel.
at::Tensor try_fused(torch::nn::BatchNorm2d& norm, NormStep step) {
  if (fused_ops() == nullptr || !norm->is_training() || norm_sum()) {
    return {};
  }
  step.weight = norm->weight;
  step.bias = norm->bias;
  step.running_mean = norm->running_mean;
  step.running_var = norm->running_var;
  step.batches = norm->num_batches_tracked;
  step.momentum = norm->options.momentum().value_or(0.1);
  step.eps = norm->options.eps();
  return fused_ops()->norm(step);
}

}  // namespace

at::Tensor norm_relu(torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                     const at::Tensor& shortcut) {
  if (at::Tensor y =
          try_fused(norm, {.x = x, .shortcut = shortcut, .activation = Activation::Relu});
      y.defined()) {
    return y;
  }
  at::Tensor y = batch_norm(*norm, x);
  return rectified(shortcut.defined() ? y.add_(shortcut) : y);
}

at::Tensor norm_gelu(torch::nn::BatchNorm2d& norm, const at::Tensor& x) {
  at::Tensor y = try_fused(norm, {.x = x, .activation = Activation::Gelu});
  return y.defined() ? y : torch::gelu(batch_norm(*norm, x));
}

at::Tensor norm_only(torch::nn::BatchNorm2d& norm, const at::Tensor& x) {
  at::Tensor y = try_fused(norm, {.x = x});
  return y.defined() ? y : batch_norm(*norm, x);
}

at::Tensor conv_norm_relu_pool(torch::nn::Conv2d& conv, torch::nn::BatchNorm2d& norm,
                               const at::Tensor& x) {
  if (fused_ops() != nullptr && norm->is_training() && conv->bias.defined()) {
    // The mean takes the bias away again: adding it and summing its gradient would be for nothing.
    const at::Tensor plain = torch::conv2d(x, conv->weight, {}, conv->options.stride(),
                                           std::get<0>(conv->options.padding()));
    if (at::Tensor y = try_fused(
            norm,
            {.x = plain, .input_bias = conv->bias, .activation = Activation::Relu, .pool = true});
        y.defined()) {
      return y;
    }
  }
  return torch::max_pool2d(rectified(batch_norm(*norm, conv(x))), 2);
}

at::Tensor max_pool(const at::Tensor& x) {
  if (fused_ops() != nullptr) {
    if (at::Tensor y = fused_ops()->max_pool(x); y.defined()) {
      return y;
    }
  }
  return torch::max_pool2d(x, 2);
}

at::Tensor whiten(const WhitenStep& step) {
  if (fused_ops() != nullptr) {
    if (at::Tensor y = fused_ops()->whiten(step); y.defined()) {
      return y;
    }
  }
  return torch::gelu(torch::conv2d(step.x, step.weight, step.bias));
}

AddNormed add_norm(torch::nn::LayerNorm& norm, const at::Tensor& x, const at::Tensor& delta) {
  if (fused_ops() != nullptr && norm->is_training()) {
    AddNormed fused = fused_ops()->add_norm({.x = x,
                                             .delta = delta,
                                             .weight = norm->weight,
                                             .bias = norm->bias,
                                             .eps = norm->options.eps()});
    if (fused.normed.defined()) {
      return fused;
    }
  }
  const at::Tensor sum = delta.defined() ? x + delta : x;
  return {.sum = sum, .normed = norm(sum)};
}

at::Tensor linear(torch::nn::Linear& layer, const at::Tensor& x) {
  if (fused_ops() != nullptr && layer->is_training()) {
    at::Tensor y = fused_ops()->linear({.x = x, .weight = layer->weight, .bias = layer->bias});
    if (y.defined()) {
      return y;
    }
  }
  return torch::linear(x, layer->weight, layer->bias);
}

}  // namespace kedge::nn
