#include "nn/layers.h"

#include <algorithm>
#include <cmath>

#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/quantized_weight.h"

namespace kedge::nn {

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

void Layer::set_mode(bool is_training) {
  is_training_ = is_training;
  for (const Inner& inner : layers_) {
    inner.layer->set_mode(is_training);
  }
}

void Layer::each_tensor(const VisitTensor& visit, const std::string& prefix) const {
  for (const TensorSlot& slot : tensors_) {
    visit(prefix + slot.name, *slot.tensor, slot.is_parameter);
  }
  for (const Inner& inner : layers_) {
    inner.layer->each_tensor(visit, prefix + inner.name + ".");
  }
}

void Layer::each_layer(const VisitLayer& visit, const std::string& prefix) {
  for (const Inner& inner : layers_) {
    visit(prefix + inner.name, *inner.layer);
    inner.layer->each_layer(visit, prefix + inner.name + ".");
  }
}

void Layer::convert_linears(const ConvertLinear& convert, const std::string& prefix) {
  for (Inner& inner : layers_) {
    if (inner.slot != nullptr) {
      *inner.slot = convert(prefix + inner.name, *inner.slot);
      inner.layer = *inner.slot;
    } else {
      inner.layer->convert_linears(convert, prefix + inner.name + ".");
    }
  }
}

void Layer::add_parameter(std::string name, at::Tensor& slot, const at::Tensor& value) {
  slot = value;
  slot.set_requires_grad(true);
  tensors_.push_back({std::move(name), &slot, /*is_parameter=*/true});
}

void Layer::add_buffer(std::string name, at::Tensor& slot, const at::Tensor& value) {
  slot = value;
  tensors_.push_back({std::move(name), &slot, /*is_parameter=*/false});
}

void Layer::add_linear(std::string name, std::shared_ptr<Linear>& slot, std::int64_t in,
                       std::int64_t out, bool has_bias) {
  slot = std::make_shared<Linear>(making_, in, out, has_bias);
  layers_.push_back({std::move(name), slot, &slot});
}

at::TensorOptions Layer::options() const {
  return at::TensorOptions(making_.type)
      .device(making_.has_memory ? making_.device : at::Device(at::kMeta));
}

Linear::Linear(const Making& making, std::int64_t in, std::int64_t out, bool has_bias)
    : Layer(making) {
  const at::TensorOptions of_weight = options();
  add_parameter(
      "weight", weight,
      torch::empty({out, in}, making.has_linear_memory ? of_weight : of_weight.device(at::kMeta)));
  if (has_bias) {
    add_parameter("bias", bias, torch::empty({out}, options()));
  }
  init_like_torch(weight, bias);
}

Linear::Linear(const Making& making, const Linear& other) : Layer(making), packed(other.packed) {
  add_parameter("weight", weight, other.weight);
  if (other.bias.defined()) {
    add_parameter("bias", bias, other.bias);
  }
}

void Linear::keep_as(std::shared_ptr<QuantizedWeight> bits) {
  packed = std::move(bits);
  weight = at::empty_like(weight.detach(), at::TensorOptions(at::kMeta));
}

void Linear::give_weight_memory() {
  weight = torch::zeros(weight.sizes(), options()).set_requires_grad(true);
}

at::Tensor Linear::product(const at::Tensor& x) const {
  return packed == nullptr ? torch::linear(x, weight, bias) : packed->product(x, bias);
}

std::vector<at::Tensor> forward_fused(const std::vector<Linear*>& linears, const at::Tensor& x,
                                      const device::Rotation& rotation) {
  device::FusedOps* fused = linears.front()->making().context->fused;
  if (fused == nullptr) {
    return {};
  }
  device::JoinedLinearStep step{.x = x, .rotation = rotation};
  for (const Linear* linear : linears) {
    const auto adapter = linear->adapter();
    if (!adapter) {
      return {};
    }
    step.weights.push_back(linear->weight);
    step.biases.push_back(linear->bias);
    step.adapters.push_back(*adapter);
    if (linear->packed != nullptr) {
      if (const auto nf4 = linear->packed->nf4()) {
        step.packed.push_back(*nf4);
      } else if (const auto int8 = linear->packed->int8()) {
        step.bytes.push_back(*int8);
      } else {
        return {};
      }
    }
  }
  return fused->joined_linear(step);
}

Joined forward_joined(const std::vector<Linear*>& linears, const at::Tensor& x,
                      const device::Rotation& rotation) {
  Joined joined{.parts = forward_fused(linears, x, rotation)};
  joined.is_rotated = !joined.parts.empty() && rotation.columns > 0;
  if (joined.parts.empty()) {
    for (Linear* linear : linears) {
      joined.parts.push_back(linear->forward(x));
    }
  }
  return joined;
}

at::Tensor gated(const device::Context& context, const at::Tensor& gate, const at::Tensor& up) {
  if (context.fused != nullptr) {
    at::Tensor y = context.fused->gated(gate, up);
    if (y.defined()) {
      return y;
    }
  }
  return torch::silu(gate) * up;
}

void Layer::lay_joined_together() {
  for (const auto& linears : joined_) {
    std::vector<at::Tensor> weights;
    for (const auto* linear : linears) {
      weights.push_back((*linear)->weight);
    }
    const auto is_alike = [&](const at::Tensor& weight) {
      return weight.defined() && weight.scalar_type() == weights.front().scalar_type() &&
             !weight.is_meta();
    };
    const bool is_used = context().fused != nullptr || making_.context->device.is_cuda();
    if (is_used && std::ranges::all_of(weights, is_alike)) {
      const torch::NoGradGuard no_grad;
      const at::Tensor together = torch::cat(weights);
      std::int64_t begin = 0;
      for (const auto* linear : linears) {
        at::Tensor& weight = (*linear)->weight;
        weight.set_data(together.narrow(0, begin, weight.size(0)));
        begin += weight.size(0);
      }
    }
  }
  for (const Inner& inner : layers_) {
    inner.layer->lay_joined_together();
  }
}

// For sequences: libtorch would add their bias in a step of its own, and have the gradient of a
// float32 weight in bfloat16 first.
at::Tensor Linear::forward(const at::Tensor& x, Activation activation) {
  if (packed != nullptr || (!bias.defined() && activation == Activation::None)) {
    const std::vector<at::Tensor> parts = forward_fused({this}, x);
    if (!parts.empty()) {
      return activated(parts.front(), activation);
    }
  }
  if (context().fused != nullptr && is_training() && x.dim() > 2 && packed == nullptr) {
    const at::Tensor y =
        context().fused->linear({.x = x, .weight = weight, .bias = bias, .activation = activation});
    if (y.defined()) {
      return y;
    }
  }
  return activated(product(x), activation);
}

std::vector<at::Tensor> Linear::forward_thirds(const at::Tensor& x) {
  if (packed != nullptr) {
    return forward(x).chunk(3, -1);
  }
  if (context().fused != nullptr && is_training()) {
    std::vector<at::Tensor> thirds =
        context().fused->linear_thirds({.x = x, .weight = weight, .bias = bias});
    if (!thirds.empty()) {
      return thirds;
    }
  }
  return torch::linear(x, weight, bias).chunk(3, -1);
}

LayerNorm::LayerNorm(const Making& making, std::int64_t width, double eps)
    : Layer(making), eps_(eps) {
  add_parameter("weight", weight, torch::ones({width}, options()));
  add_parameter("bias", bias, torch::zeros({width}, options()));
}

at::Tensor LayerNorm::forward(const at::Tensor& x) {
  return torch::layer_norm(x, weight.sizes(), weight, bias, eps_);
}

AddNormed LayerNorm::forward_sum(const at::Tensor& x, const at::Tensor& delta) {
  if (context().fused != nullptr && is_training()) {
    AddNormed fused = context().fused->add_norm(
        {.x = x, .delta = delta, .weight = weight, .bias = bias, .eps = eps_});
    if (fused.normed.defined()) {
      return fused;
    }
  }
  const at::Tensor sum = delta.defined() ? x + delta : x;
  return {.sum = sum, .normed = forward(sum)};
}

RmsNorm::RmsNorm(const Making& making, std::int64_t width, double eps) : Layer(making), eps_(eps) {
  add_parameter("weight", weight, torch::ones({width}, options()));
}

at::Tensor RmsNorm::forward(const at::Tensor& x) const {
  if (context().fused != nullptr) {
    const AddNormed fused = context().fused->add_rms_norm(
        {.x = x.contiguous(), .delta = {}, .weight = weight, .bias = {}, .eps = eps_});
    if (fused.normed.defined()) {
      return fused.normed;
    }
  }
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor exact = x.to(wide);
  const at::Tensor normal = exact * torch::rsqrt(exact.pow(2).mean(-1, /*keepdim=*/true) + eps_);
  return weight * normal.to(x.scalar_type());
}

AddNormed RmsNorm::forward_sum(const at::Tensor& x, const at::Tensor& delta) const {
  if (context().fused != nullptr) {
    AddNormed fused = context().fused->add_rms_norm(
        {.x = x, .delta = delta, .weight = weight, .bias = {}, .eps = eps_});
    if (fused.normed.defined()) {
      return fused;
    }
  }
  const at::Tensor sum = delta.defined() ? x + delta : x;
  return {.sum = sum, .normed = forward(sum)};
}

Embedding::Embedding(const Making& making, std::int64_t rows, std::int64_t width) : Layer(making) {
  add_parameter("weight", weight, torch::empty({rows, width}, options()));
  torch::nn::init::normal_(weight);
}

at::Tensor Embedding::forward(const at::Tensor& indices) const {
  return torch::embedding(weight, indices);
}

at::Tensor Dropout::forward(const at::Tensor& x) const {
  return torch::dropout(x, probability_, is_training());
}

void init_like_torch(at::Tensor& weight, at::Tensor& bias) {
  torch::nn::init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (bias.defined()) {
    const double fan_in = static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0));
    const double bound = 1 / std::sqrt(fan_in);
    torch::nn::init::uniform_(bias, -bound, bound);
  }
}

}  // namespace kedge::nn
