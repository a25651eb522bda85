// What every optimizer of the registry must do.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>

#include "config/load.h"
#include "config/value.h"
#include "train/optimizer.h"
#include "train/optimizers/golden.h"

namespace kedge::train {
namespace {

class OptimizerConformance : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> make(const nn::NamedTensors& parameters,
                                  const config::OptimizerConfig& config = {}) const {
    // Two groups, as group_parameters makes them where only matrices decay.
    ParameterGroup decayed{.parameters = {}, .weight_decay = 0.1};
    ParameterGroup plain{.parameters = {}, .weight_decay = 0};
    for (const auto& named : parameters) {
      (named.second.dim() >= 2 ? decayed : plain).parameters.push_back(named);
    }
    return std::move(
        Optimizers::make("optimizer", GetParam(), config, ParameterGroups{decayed, plain}).value());
  }

  static nn::NamedTensors copy(const nn::NamedTensors& tensors) {
    nn::NamedTensors copies;
    for (const auto& [name, tensor] : tensors) {
      copies.emplace_back(name, tensor.detach().clone().requires_grad_(tensor.requires_grad()));
    }
    return copies;
  }

  static void expect_same(const nn::NamedTensors& a, const nn::NamedTensors& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << a[i].first;
    }
  }

  static void train(Optimizer& optimizer, const nn::NamedTensors& parameters, int from, int to) {
    for (int step = from; step <= to; ++step) {
      golden::set_gradients(parameters, step);
      optimizer.step(0.01);
    }
  }
};

TEST_P(OptimizerConformance, copied_state_makes_a_resumed_run_bit_identical) {
  const nn::NamedTensors whole = golden::parameters();
  const auto whole_optimizer = make(whole);
  train(*whole_optimizer, whole, 1, 10);

  const nn::NamedTensors first = golden::parameters();
  const auto first_optimizer = make(first);
  train(*first_optimizer, first, 1, 5);
  const nn::NamedTensors second = copy(first);
  const auto second_optimizer = make(second);
  const nn::NamedTensors saved = first_optimizer->state();
  const nn::NamedTensors live = second_optimizer->state();
  ASSERT_EQ(saved.size(), live.size());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    ASSERT_EQ(saved[i].first, live[i].first);
    live[i].second.copy_(saved[i].second);
  }
  train(*second_optimizer, second, 6, 10);
  expect_same(second, whole);
  expect_same(second_optimizer->state(), whole_optimizer->state());
}

TEST_P(OptimizerConformance, state_names_are_unique_and_end_in_a_parameter) {
  const nn::NamedTensors parameters = golden::parameters();
  std::set<std::string> seen;
  for (const auto& [name, tensor] : make(parameters)->state()) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    const bool is_known = name == "step" || std::ranges::any_of(parameters, [&](const auto& known) {
                            return name.ends_with("." + known.first);
                          });
    EXPECT_TRUE(is_known) << name;
  }
}

TEST_P(OptimizerConformance, the_loss_falls_on_a_quadratic) {
  const nn::NamedTensors parameters = golden::parameters();
  const auto optimizer = make(parameters);
  double first = 0;
  double last = 0;
  for (int step = 0; step < 60; ++step) {
    at::Tensor loss = torch::zeros({});
    for (const auto& [name, parameter] : parameters) {
      loss = loss + (parameter - 0.3).square().sum();
      parameter.mutable_grad().reset();
    }
    loss.backward();
    optimizer->step(0.01);
    last = loss.item<double>();
    first = step == 0 ? last : first;
  }
  EXPECT_LT(last, 0.8 * first);
}

TEST_P(OptimizerConformance, a_rate_of_zero_changes_no_parameter) {
  const nn::NamedTensors parameters = golden::parameters();
  const nn::NamedTensors before = copy(parameters);
  const auto optimizer = make(parameters);
  for (int step = 1; step <= 3; ++step) {
    golden::set_gradients(parameters, step);
    optimizer->step(0);
  }
  expect_same(parameters, before);
}

TEST_P(OptimizerConformance, parameters_without_a_gradient_are_untouched) {
  const nn::NamedTensors parameters = golden::parameters();
  const nn::NamedTensors before = copy(parameters);
  const auto optimizer = make(parameters);
  for (int step = 1; step <= 3; ++step) {
    golden::set_gradients(parameters, step);
    parameters[0].second.mutable_grad().reset();
    parameters[3].second.mutable_grad().reset();
    optimizer->step(0.01);
  }
  for (const std::size_t i : {0U, 3U}) {
    EXPECT_TRUE(at::equal(parameters[i].second, before[i].second)) << parameters[i].first;
  }
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_FALSE(at::equal(parameters[i].second, before[i].second)) << parameters[i].first;
  }
}

TEST_P(OptimizerConformance, a_late_first_gradient_starts_that_parameter_at_its_first_step) {
  const nn::NamedTensors late = golden::parameters();
  const auto optimizer = make(late);
  for (int step = 1; step <= 3; ++step) {
    golden::set_gradients(late, step);
    late[0].second.mutable_grad().reset();
    optimizer->step(0.01);
  }
  golden::set_gradients(late, 4);
  optimizer->step(0.01);

  const nn::NamedTensors fresh = golden::parameters();
  golden::set_gradients(fresh, 4);
  make(fresh)->step(0.01);
  EXPECT_TRUE(at::equal(late[0].second, fresh[0].second));
}

TEST_P(OptimizerConformance, bfloat16_parameters_follow_the_float_ones) {
  const nn::NamedTensors exact = golden::parameters();
  nn::NamedTensors rounded;
  for (const auto& [name, parameter] : exact) {
    rounded.emplace_back(name, parameter.detach().to(at::kBFloat16).requires_grad_());
  }
  train(*make(exact), exact, 1, 3);
  train(*make(rounded), rounded, 1, 3);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(rounded[i].second.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::allclose(rounded[i].second.to(at::kFloat), exact[i].second, 0.02, 0.02))
        << exact[i].first;
  }
}

TEST_P(OptimizerConformance, mixed_types_update_together) {
  nn::NamedTensors parameters = golden::parameters();
  parameters[1].second = parameters[1].second.detach().to(at::kBFloat16).requires_grad_();
  const nn::NamedTensors before = copy(parameters);
  train(*make(parameters), parameters, 1, 1);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_FALSE(at::equal(parameters[i].second, before[i].second)) << before[i].first;
  }
}

TEST_P(OptimizerConformance, memory_layout_does_not_change_the_result) {
  const nn::NamedTensors plain = golden::parameters();
  nn::NamedTensors permuted = golden::parameters();
  at::Tensor& conv = permuted[2].second;
  conv = conv.detach().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  train(*make(plain), plain, 1, 5);
  train(*make(permuted), permuted, 1, 5);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    // Muon's bfloat16 products may add in another order.
    EXPECT_TRUE(
        at::allclose(permuted[i].second, plain[i].second, 0, GetParam() == "muon" ? 2e-4 : 1e-6))
        << plain[i].first;
  }
}

// A value that the field may have and that is not its default.
std::string other_value(const config::Field& field) {
  const nlohmann::json value = config::value_as_json(field);
  if (value.is_string()) {
    return field.limits.choices.back();
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "false" : "true";
  }
  return value.is_number_integer() ? std::to_string(value.get<int>() + 1)
                                   : std::to_string(value == 0.0 ? 0.5 : value.get<double>() / 2);
}

TEST_P(OptimizerConformance, reads_no_key_that_others_list_and_it_does_not) {
  const nn::NamedTensors expected = golden::parameters();
  train(*make(expected), expected, 1, 3);
  for (const auto& [name, entry] : Optimizers::all()) {
    for (const std::string_view key : entry.reads) {
      if (std::ranges::count(Optimizers::all().at(GetParam()).reads, key) == 0) {
        const std::string path = "optimizer." + std::string(key);
        const config::LoadedConfig defaults;
        const std::string other = other_value(*defaults.find(path));
        const auto config = config::load_config({.overrides = {path + "=" + other}});
        ASSERT_TRUE(config) << config.error().message;
        const nn::NamedTensors parameters = golden::parameters();
        train(*make(parameters, (*config)->optimizer), parameters, 1, 3);
        expect_same(parameters, expected);
      }
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, entry] : Optimizers::all()) {
    all.emplace_back(name);
  }
  return all;
}

// gtest calls names() from main, when every plug-in has registered.
INSTANTIATE_TEST_SUITE_P(All, OptimizerConformance, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kedge::train
