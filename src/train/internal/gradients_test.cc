#include "train/internal/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "train/optimizers/golden.h"

namespace kedge::train {
namespace {

TEST(ClipNorm, agrees_with_pytorch) {
  for (const nlohmann::json& test : golden::read("clipping")) {
    const double max_norm = test.at("max_norm").get<double>();
    SCOPED_TRACE(max_norm);
    const nn::NamedTensors parameters = golden::parameters();
    golden::set_gradients(parameters, 1);
    const double norm = gradient_norm(parameters).item<double>();
    EXPECT_NEAR(norm, test.at("norm").get<double>(), 1e-5);
    clip_norm(parameters, gradient_norm(parameters), max_norm);
    for (const auto& [name, parameter] : parameters) {
      SCOPED_TRACE(name);
      golden::expect_near(parameter.grad(), test.at("gradients").at(name));
    }
    EXPECT_NEAR(gradient_norm(parameters).item<double>(), std::min(norm, max_norm), 1e-4);
  }
}

TEST(ClipNorm, takes_gradients_of_several_types) {
  const nn::NamedTensors parameters = {{"a", torch::zeros({2}).requires_grad_()},
                                       {"b", torch::zeros({2}, torch::kBFloat16).requires_grad_()}};
  parameters[0].second.mutable_grad() = torch::full({2}, 3.0);
  parameters[1].second.mutable_grad() = torch::full({2}, 4.0).to(torch::kBFloat16);
  EXPECT_NEAR(gradient_norm(parameters).item<double>(), std::sqrt(50.0), 1e-4);
  clip_norm(parameters, gradient_norm(parameters), 1);
  EXPECT_NEAR(gradient_norm(parameters).item<double>(), 1, 0.01);
}

TEST(ClipNorm, without_gradients_the_norm_is_zero) {
  EXPECT_EQ(gradient_norm(golden::parameters()).item<double>(), 0);
}

TEST(ZeroGradients, drops_or_fills) {
  const nn::NamedTensors parameters = golden::parameters();
  golden::set_gradients(parameters, 1);
  zero_gradients(parameters, Clearing::Fill);
  EXPECT_EQ(gradients_of(parameters).size(), parameters.size());
  EXPECT_EQ(gradient_norm(parameters).item<double>(), 0);
  zero_gradients(parameters);
  EXPECT_TRUE(gradients_of(parameters).empty());
}

TEST(FindFirstNonfinite, names_the_first_bad_tensor) {
  const nn::NamedTensors tensors = {{"counts", torch::ones({2}, torch::kLong)},
                                    {"good", torch::ones({3})},
                                    {"bad", torch::ones({2, 2})},
                                    {"worse", torch::ones({2})}};
  EXPECT_EQ(find_first_nonfinite(tensors), std::nullopt);
  tensors[3].second[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(find_first_nonfinite(tensors), "worse");
  tensors[2].second[1][1] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(find_first_nonfinite(tensors), "bad");
}

}  // namespace
}  // namespace kedge::train
