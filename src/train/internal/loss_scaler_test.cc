#include "train/internal/loss_scaler.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "train/optimizers/golden.h"

namespace kedge::train {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double scale_of(const LossScaler& scaler) {
  return scaler.scale(torch::ones({})).item<double>();
}

void set_scaled_gradient(const at::Tensor& parameter, const LossScaler& scaler, int step) {
  parameter.mutable_grad() = scaler.scale(golden::gradient(0, parameter.sizes(), step));
  if (step == 3 || step == 4 || step == 11) {
    parameter.mutable_grad()[1][2] = kInfinity;
  }
}

TEST(LossScaler, agrees_with_the_grad_scaler_of_pytorch) {
  const nlohmann::json expected = golden::read("loss_scaling");
  const at::Tensor parameter = golden::initial(0, {4, 6}).requires_grad_();
  LossScaler scaler(at::kCPU, {.growth_interval = 3});
  for (int step = 1; step <= 15; ++step) {
    set_scaled_gradient(parameter, scaler, step);
    scaler.unscale({{"w", parameter}});
    if (scaler.is_finite()) {
      const torch::NoGradGuard no_grad;
      parameter.sub_(parameter.grad(), 0.1);
    }
    scaler.update();
    EXPECT_EQ(scale_of(scaler), expected.at("scales")[static_cast<std::size_t>(step - 1)])
        << "step " << step;
  }
  golden::expect_near(parameter, expected.at("parameter"));
}

TEST(LossScaler, the_scale_begins_at_65536) {
  EXPECT_EQ(scale_of(LossScaler(at::kCPU)), 65536);
}

TEST(LossScaler, one_bad_value_among_several_types_is_found) {
  const nn::NamedTensors parameters = {{"a", torch::zeros({2}).requires_grad_()},
                                       {"b", torch::zeros({2}, torch::kDouble).requires_grad_()},
                                       {"none", torch::zeros({2}).requires_grad_()}};
  LossScaler scaler(at::kCPU);
  parameters[0].second.mutable_grad() = torch::full({2}, 65536.0);
  parameters[1].second.mutable_grad() = torch::full({2}, 65536.0).to(torch::kDouble);
  scaler.unscale(parameters);
  EXPECT_TRUE(scaler.is_finite());
  EXPECT_TRUE(at::equal(parameters[0].second.grad(), torch::ones({2})));
  EXPECT_TRUE(at::equal(parameters[1].second.grad().to(torch::kFloat), torch::ones({2})));
  parameters[1].second.mutable_grad()[1] = std::numeric_limits<float>::quiet_NaN();
  scaler.unscale(parameters);
  EXPECT_FALSE(scaler.is_finite());
}

TEST(LossScaler, copied_state_continues_the_scale) {
  const at::Tensor parameter = golden::initial(0, {4, 6}).requires_grad_();
  LossScaler first(at::kCPU, {.growth_interval = 3});
  LossScaler second(at::kCPU, {.growth_interval = 3});
  for (int step = 1; step <= 5; ++step) {
    set_scaled_gradient(parameter, first, step);
    first.unscale({{"w", parameter}});
    first.update();
  }
  const nn::NamedTensors saved = first.state();
  const nn::NamedTensors live = second.state();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    ASSERT_EQ(saved[i].first, live[i].first);
    live[i].second.copy_(saved[i].second);
  }
  for (LossScaler* scaler : {&first, &second}) {
    for (int step = 6; step <= 10; ++step) {
      set_scaled_gradient(parameter, *scaler, step);
      scaler->unscale({{"w", parameter}});
      scaler->update();
    }
  }
  EXPECT_EQ(scale_of(first), scale_of(second));
  EXPECT_EQ(scale_of(first), 65536);
}

}  // namespace
}  // namespace kedge::train
