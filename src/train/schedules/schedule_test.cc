#include "train/schedules/schedule.h"

#include <cmath>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kedge::train {
namespace {

using config::ScheduleConfig;
using config::ScheduleUnit;

nlohmann::json golden_curves() {
  std::ifstream file(std::string(KEDGE_FIXTURES) + "/train/schedules.json");
  return nlohmann::json::parse(file).at("cases");
}

ScheduleConfig config_of(const nlohmann::json& test) {
  ScheduleConfig config;
  config.name = test.at("name").get<std::string>();
  const nlohmann::json& options = test.at("options");
  config.warmup = options.value("warmup", config.warmup);
  config.warmup_start = options.value("warmup_start", config.warmup_start);
  config.length = options.value("length", config.length);
  config.floor = options.value("floor", config.floor);
  config.step_size = options.value("step_size", config.step_size);
  config.milestones = options.value("milestones", config.milestones);
  config.gamma = options.value("gamma", config.gamma);
  config.pct_start = options.value("pct_start", config.pct_start);
  config.div_factor = options.value("div_factor", config.div_factor);
  config.final_div_factor = options.value("final_div_factor", config.final_div_factor);
  config.patience = options.value("patience", config.patience);
  return config;
}

Error error_of(const ScheduleConfig& config,
               const Horizon& horizon = {.steps = 100, .epochs = 10}) {
  const auto rate = LearningRate::make(config, 1, horizon);
  return rate.has_value() ? Error{} : rate.error();
}

TEST(LearningRate, every_curve_agrees_with_pytorch) {
  for (const nlohmann::json& test : golden_curves()) {
    for (const ScheduleUnit unit : {ScheduleUnit::Step, ScheduleUnit::Epoch}) {
      SCOPED_TRACE(test.at("name").get<std::string>() + " " + test.at("options").dump());
      ScheduleConfig config = config_of(test);
      config.unit = unit;
      // Ten steps an epoch: what PyTorch gives for epochs holds at their beginnings.
      const bool is_step = unit == ScheduleUnit::Step;
      const Horizon horizon =
          is_step ? Horizon{.steps = 60, .epochs = 6} : Horizon{.steps = 600, .epochs = 60};
      auto rate = LearningRate::make(config, test.at("peak").get<double>(), horizon);
      ASSERT_TRUE(rate.has_value()) << rate.error().message;
      for (std::int64_t t = 0; t < 60; ++t) {
        const auto i = static_cast<std::size_t>(t);
        EXPECT_NEAR(is_step ? rate->at(t, t / 10) : rate->at(10 * t, t),
                    test.at("rates")[i].get<double>(), 1e-9)
            << "at " << t;
        if (test.contains("metrics")) {
          rate->schedule().observe(test.at("metrics")[i].get<double>(),
                                   test.at("more_is_better").get<bool>());
        }
      }
    }
  }
}

TEST(LearningRate, a_warmup_in_epochs_rises_with_every_step) {
  const auto rate = LearningRate::make({.name = "none", .unit = ScheduleUnit::Epoch, .warmup = 2},
                                       0.8, {.steps = 40, .epochs = 4});
  ASSERT_TRUE(rate.has_value());
  EXPECT_DOUBLE_EQ(rate->at(0, 0), 0);
  EXPECT_DOUBLE_EQ(rate->at(5, 0), 0.2);
  EXPECT_DOUBLE_EQ(rate->at(15, 1), 0.6);
  EXPECT_DOUBLE_EQ(rate->at(20, 2), 0.8);
  EXPECT_DOUBLE_EQ(rate->at(35, 3), 0.8);
}

TEST(LearningRate, a_warmup_ends_where_the_schedule_begins) {
  const auto rate =
      LearningRate::make({.name = "one_cycle", .warmup = 10, .div_factor = 4}, 1, {.steps = 60});
  ASSERT_TRUE(rate.has_value());
  EXPECT_DOUBLE_EQ(rate->at(5, 0), 0.125);
  EXPECT_DOUBLE_EQ(rate->at(10, 0), 0.25);
}

TEST(LearningRate, schedules_that_end_stay_at_their_floor) {
  for (const char* name : {"cosine", "linear"}) {
    const auto rate =
        LearningRate::make({.name = name, .length = 20, .floor = 0.1}, 2, {.steps = 60});
    ASSERT_TRUE(rate.has_value());
    EXPECT_NEAR(rate->at(20, 0), 0.2, 1e-12);
    EXPECT_NEAR(rate->at(59, 0), 0.2, 1e-12);
  }
}

TEST(LearningRate, a_warmup_longer_than_training_names_the_key) {
  const Error error = error_of({.name = "none", .warmup = 101});
  EXPECT_EQ(error.kind, ErrorKind::Usage);
  EXPECT_EQ(error.message, "schedule.warmup is 101 optimizer steps, but training has only 100");
}

TEST(LearningRate, multi_step_without_milestones_names_the_key) {
  const Error error = error_of({.name = "multi_step"});
  EXPECT_EQ(error.kind, ErrorKind::Usage);
  EXPECT_THAT(error.message, testing::HasSubstr("schedule.milestones"));
}

TEST(LearningRate, schedules_with_an_end_need_a_horizon_or_a_length) {
  for (const char* name : {"cosine", "linear", "one_cycle"}) {
    const Error error = error_of({.name = name}, {});
    EXPECT_EQ(error.kind, ErrorKind::Usage) << name;
    EXPECT_THAT(error.message, testing::HasSubstr("schedule.length")) << name;
    EXPECT_EQ(error_of({.name = name, .length = 10}, {}).message, "") << name;
  }
}

TEST(LearningRate, an_unknown_name_gets_the_nearest) {
  EXPECT_EQ(error_of({.name = "cosin"}).message,
            "unknown schedule 'cosin'; did you mean 'cosine'?");
}

TEST(OneCycle, short_trainings_and_extreme_shares_stay_finite) {
  for (const std::int64_t length : {1, 2, 3, 10}) {
    for (const double pct_start : {0.0, 0.1, 0.5, 1.0}) {
      const auto rate =
          LearningRate::make({.name = "one_cycle", .pct_start = pct_start}, 1, {.steps = length});
      ASSERT_TRUE(rate.has_value());
      for (std::int64_t t = 0; t <= length; ++t) {
        EXPECT_GE(rate->at(t, 0), 0) << length << " " << pct_start << " " << t;
        EXPECT_LE(rate->at(t, 0), 1) << length << " " << pct_start << " " << t;
      }
    }
  }
}

TEST(Plateau, a_metric_that_is_not_a_number_counts_as_no_improvement) {
  auto rate = LearningRate::make({.name = "plateau", .gamma = 0.5, .patience = 1}, 1, {});
  ASSERT_TRUE(rate.has_value());
  rate->schedule().observe(std::nan(""), false);
  EXPECT_EQ(rate->at(0, 0), 1);
  rate->schedule().observe(std::nan(""), false);
  EXPECT_EQ(rate->at(0, 0), 0.5);
}

}  // namespace
}  // namespace kedge::train
