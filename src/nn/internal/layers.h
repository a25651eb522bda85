// Layers with what stands around them, fused where the device can (nn/fused.h).
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/fused.h"
#include "nn/internal/modules.h"

namespace kedge::nn {

// relu(norm(x) + shortcut); `shortcut` may be undefined.
at::Tensor norm_relu(torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                     const at::Tensor& shortcut = {});

// gelu(norm(x)).
at::Tensor norm_gelu(torch::nn::BatchNorm2d& norm, const at::Tensor& x);

// norm(x).
at::Tensor norm_only(torch::nn::BatchNorm2d& norm, const at::Tensor& x);

// max_pool(relu(norm(conv(x)))), over fields of 2 x 2.
at::Tensor conv_norm_relu_pool(torch::nn::Conv2d& conv, torch::nn::BatchNorm2d& norm,
                               const at::Tensor& x);

// The maximum of fields of 2 x 2.
at::Tensor max_pool(const at::Tensor& x);

// The maximum over an image's pixels, per channel: [N, C].
at::Tensor max_of_image(const at::Tensor& x);

// gelu(conv2d(x, weight, bias)), where nothing in x or weight is trained.
at::Tensor whiten(const WhitenStep& step);

// x + delta (x where that is undefined), and its normalisation.
AddNormed add_norm(torch::nn::LayerNorm& norm, const at::Tensor& x, const at::Tensor& delta);

// activation(layer(x)) for sequences: torch::nn::Linear's own forward adds their bias in a step of
// its own.
at::Tensor linear(torch::nn::Linear& layer, const at::Tensor& x,
                  Activation activation = Activation::None);

// layer(x) in three equal parts of its columns, as attention wants them.
std::vector<at::Tensor> linear_thirds(torch::nn::Linear& layer, const at::Tensor& x);

// [B, T, H D] as [B, H, T, D].
at::Tensor split_heads(const at::Tensor& x_BTC, std::int64_t heads);

}  // namespace kedge::nn
