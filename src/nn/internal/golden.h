// Weights and inputs by the hash of tools/golden/values.py, and comparison with its results; for
// tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "core/random.h"
#include "nn/model.h"

namespace kedge::nn::golden {

constexpr double kTolerance = 1e-5;

// The generator's noise(): float32 in [-1, 1).
inline at::Tensor noise(std::uint64_t stream, at::IntArrayRef shape) {
  at::Tensor tensor = torch::empty(shape);
  float* data = tensor.mutable_data_ptr<float>();
  const std::uint64_t key = mix64(stream);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const std::uint64_t bits = mix64(key + static_cast<std::uint64_t>(i)) >> 40U;
    data[i] = static_cast<float>(bits) / 0x1.0p24F * 2 - 1;
  }
  return tensor;
}

inline at::Tensor weight_value(const std::string& name, std::uint64_t stream,
                               at::IntArrayRef shape) {
  const at::Tensor values = noise(stream, shape);
  if (shape.size() >= 2) {
    const double fan_in = static_cast<double>(values.numel()) / static_cast<double>(shape[0]);
    return values * std::sqrt(3.0 / fan_in);
  }
  const bool is_scale = name.ends_with("weight") || name.ends_with("running_var");
  return values * 0.1 + (is_scale ? 1.0 : 0.0);
}

// Each tensor by the stream of its place among the sorted names, as the generators for
// transformers' models do.
inline void fill_by_name(NamedTensors tensors) {
  std::ranges::sort(tensors, {}, &NamedTensors::value_type::first);
  std::uint64_t stream = 1000;
  for (const auto& [name, tensor] : tensors) {
    tensor.set_data(weight_value(name, stream++, tensor.sizes()));
  }
}

// Within the tolerance of the largest value (or of `scale`): elements near zero are differences of
// large ones.
inline void expect_near(const at::Tensor& actual, const nlohmann::json& expected,
                        const std::string& what, double scale = 0) {
  const at::Tensor flat = actual.detach().flatten().to(torch::kDouble);
  ASSERT_GE(flat.numel(), static_cast<std::int64_t>(expected.size())) << what;
  for (const nlohmann::json& value : expected) {
    scale = std::max(scale, std::abs(value.get<double>()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(flat[static_cast<std::int64_t>(i)].item<double>(), expected[i].get<double>(),
                kTolerance * scale)
        << what << " [" << i << "]";
  }
}

}  // namespace kedge::nn::golden
