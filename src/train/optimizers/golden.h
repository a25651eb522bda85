// Parameters and gradients by the formulas of tools/golden/optim.py, and its results; for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "nn/model.h"

namespace kedge::train::golden {

inline nlohmann::json read(std::string_view name, const std::string& part = "cases") {
  std::ifstream file(std::string(KEDGE_FIXTURES) + "/train/" + std::string(name) + ".json");
  return nlohmann::json::parse(file).at(part);
}

inline at::Tensor from_formula(at::IntArrayRef shape, const auto& formula) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < c10::multiply_integers(shape); ++i) {
    values.push_back(formula(static_cast<double>(i)));
  }
  return torch::tensor(values, torch::kDouble).to(torch::kFloat).reshape(shape);
}

inline at::Tensor initial(double index, at::IntArrayRef shape) {
  return from_formula(shape, [&](double i) { return std::cos(0.23 * i + index); });
}

inline at::Tensor gradient(double index, at::IntArrayRef shape, int step) {
  return from_formula(shape, [&](double i) {
    return (0.5 + 0.1 * index) * std::sin(0.37 * i + 1.3 * index + 0.91 * step) + 0.05;
  });
}

// A matrix, a vector, a convolution's weight and a scalar.
inline nn::NamedTensors parameters() {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes = {
      {"fc.weight", {4, 6}}, {"fc.bias", {6}}, {"conv.weight", {3, 2, 3, 3}}, {"scale", {}}};
  nn::NamedTensors all;
  for (const auto& [name, shape] : shapes) {
    all.emplace_back(name, initial(static_cast<double>(all.size()), shape).requires_grad_());
  }
  return all;
}

inline void set_gradients(const nn::NamedTensors& parameters, int step) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = parameters[i].second;
    parameter.mutable_grad() =
        gradient(static_cast<double>(i), parameter.sizes(), step).to(parameter.scalar_type());
  }
}

inline void expect_near(const at::Tensor& actual, const nlohmann::json& expected,
                        double tolerance = 1e-5) {
  const at::Tensor flat = actual.detach().flatten().to(torch::kDouble);
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    EXPECT_NEAR(flat[i].item<double>(), expected[static_cast<std::size_t>(i)].get<double>(),
                tolerance)
        << "element " << i;
  }
}

}  // namespace kedge::train::golden
