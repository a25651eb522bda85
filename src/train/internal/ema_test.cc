#include "train/internal/ema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "train/optimizers/golden.h"

namespace kedge::train {
namespace {

at::Tensor weight() {
  return golden::initial(0, {4, 6}).requires_grad_();
}

void move(const at::Tensor& tensor, double by) {
  const torch::NoGradGuard no_grad;
  tensor.add_(by);
}

// The averages after 20 steps of the golden layer.
void expect_averages(const config::EmaConfig& config, const std::string& golden_name) {
  const at::Tensor bias = golden::initial(1, {4}).requires_grad_();
  const nn::NamedTensors parameters = {{"weight", weight()}, {"bias", bias}};
  Ema ema(parameters, {});
  for (int step = 1; step <= 20; ++step) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i].second;
      parameter.sub_(golden::gradient(static_cast<double>(i), parameter.sizes(), step), 0.1);
    }
    ema.set_decay(ema_decay(config, step));
    ema.update();
  }
  const nlohmann::json expected = golden::read(golden_name);
  for (const auto& [name, average] : ema.state()) {
    SCOPED_TRACE(name);
    golden::expect_near(average, expected.at(name));
  }
}

TEST(Ema, agrees_with_the_averaged_model_of_pytorch) {
  expect_averages({.decay = 0.9, .warmup = false}, "averaging");
}

TEST(Ema, warms_up_as_torch_ema_does) {
  expect_averages({.decay = 0.9, .warmup = true}, "averaging_warmup");
}

TEST(Ema, the_warm_up_ends_at_the_decay) {
  const config::EmaConfig config{.decay = 0.99, .warmup = true};
  EXPECT_DOUBLE_EQ(ema_decay(config, 1), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(ema_decay(config, 890), 0.99);  // 891 / 900
  EXPECT_DOUBLE_EQ(ema_decay(config, 1'000'000), 0.99);
}

TEST(Ema, restore_brings_the_weights_back_bit_by_bit) {
  const at::Tensor parameter = weight();
  Ema ema({{"w", parameter}}, {});
  move(parameter, 1);
  ema.set_decay(0.5);
  ema.update();
  const at::Tensor before = parameter.detach().clone();
  ema.apply();
  EXPECT_TRUE(at::allclose(parameter, before - 0.5));
  EXPECT_TRUE(at::equal(parameter, ema.state()[0].second));
  ema.restore();
  EXPECT_TRUE(at::equal(parameter, before));
}

TEST(Ema, buffers_and_frozen_parameters_stay_the_model_s) {
  const at::Tensor frozen = torch::ones({2});
  const at::Tensor mean = torch::zeros({3});
  Ema ema({{"w", weight()}, {"frozen", frozen}}, {{"running_mean", mean}});
  mean.add_(2);
  ema.set_decay(0.9);
  ema.update();
  const nn::NamedTensors state = ema.state();
  ASSERT_EQ(state.size(), 3U);
  EXPECT_TRUE(state[1].second.is_same(frozen));
  EXPECT_EQ(state[2].first, "running_mean");
  EXPECT_TRUE(at::equal(state[2].second, mean));
}

TEST(Ema, averages_of_bfloat16_weights_do_not_stall) {
  const at::Tensor parameter = torch::zeros({1}, torch::kBFloat16).requires_grad_();
  Ema ema({{"w", parameter}}, {});
  move(parameter, 1);
  for (int i = 0; i < 1000; ++i) {
    ema.set_decay(0.999);
    ema.update();
  }
  // 1 - 0.999^1000; in bfloat16 the sum would stop growing at 0.25, where 0.001 is below half a
  // unit in the last place.
  EXPECT_NEAR(ema.state()[0].second.item<double>(), 0.63230, 1e-4);
  ema.apply();
  EXPECT_EQ(parameter.scalar_type(), at::kBFloat16);
  EXPECT_NEAR(parameter.item<double>(), 0.6323, 0.004);
}

TEST(Ema, copied_state_continues_the_average) {
  const at::Tensor parameter = weight();
  Ema first({{"w", parameter}}, {});
  move(parameter, 1);
  first.set_decay(0.9);
  first.update();
  Ema second({{"w", parameter}}, {});
  second.state()[0].second.copy_(first.state()[0].second);
  move(parameter, 1);
  first.set_decay(0.9);
  first.update();
  second.set_decay(0.9);
  second.update();
  EXPECT_TRUE(at::equal(first.state()[0].second, second.state()[0].second));
}

}  // namespace
}  // namespace kedge::train
