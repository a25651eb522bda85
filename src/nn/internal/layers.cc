#include "nn/internal/layers.h"

#include "nn/internal/batch_norm.h"
#include "nn/internal/network.h"
#include "nn/norm_sync.h"

namespace kedge::nn {
namespace {

at::Tensor activated(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return torch::relu(x);
    case Activation::Gelu:
      return torch::gelu(x);
    case Activation::GeluTanh:
      return torch::gelu(x, "tanh");
  }
  return x;
}

// Undefined where it cannot be fused. Statistics of all ranks' batches are not taken by one kernel,
// and no gradient goes through the running ones.
at::Tensor try_fused(torch::nn::BatchNorm2d& norm, NormStep step) {
  step.is_training = norm->is_training();
  if (fused_ops() == nullptr ||
      (step.is_training ? bool(norm_sum()) : at::GradMode::is_enabled())) {
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

at::Tensor max_of_image(const at::Tensor& x) {
  if (fused_ops() != nullptr) {
    if (at::Tensor y = fused_ops()->max_of_image(x); y.defined()) {
      return y;
    }
  }
  return x.amax({2, 3});
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

at::Tensor linear(torch::nn::Linear& layer, const at::Tensor& x, Activation activation) {
  if (fused_ops() != nullptr && layer->is_training()) {
    at::Tensor y = fused_ops()->linear(
        {.x = x, .weight = layer->weight, .bias = layer->bias, .activation = activation});
    if (y.defined()) {
      return y;
    }
  }
  return activated(torch::linear(x, layer->weight, layer->bias), activation);
}

std::vector<at::Tensor> linear_thirds(torch::nn::Linear& layer, const at::Tensor& x) {
  if (fused_ops() != nullptr && layer->is_training()) {
    std::vector<at::Tensor> parts =
        fused_ops()->linear_thirds({.x = x, .weight = layer->weight, .bias = layer->bias});
    if (!parts.empty()) {
      return parts;
    }
  }
  return torch::linear(x, layer->weight, layer->bias).chunk(3, -1);
}

at::Tensor split_heads(const at::Tensor& x_BTC, std::int64_t heads) {
  return x_BTC.unflatten(-1, {heads, x_BTC.size(-1) / heads}).transpose(1, 2);
}

}  // namespace kedge::nn
