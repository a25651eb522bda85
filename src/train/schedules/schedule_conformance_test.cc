// What every schedule of the registry must do.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "train/schedules/schedule.h"

namespace kedge::train {
namespace {

class ScheduleConformance : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Schedule> make() const {
    const config::ScheduleConfig config{
        .name = GetParam(), .milestones = {10, 30}, .gamma = 0.9, .patience = 2};
    return std::move(
        Schedules::make("schedule", GetParam(), config, Horizon{.steps = 50, .epochs = 5}).value());
  }

  static double metric(int t) { return 1.0 / (1 + (t % 7)); }
};

TEST_P(ScheduleConformance, factors_are_shares_of_the_peak) {
  const auto schedule = make();
  for (std::int64_t t = 0; t < 200; ++t) {
    EXPECT_GE(schedule->factor(t), 0) << t;
    EXPECT_LE(schedule->factor(t), 1) << t;
  }
}

TEST_P(ScheduleConformance, asking_twice_gives_the_same_answer) {
  const auto schedule = make();
  for (std::int64_t t = 49; t >= 0; --t) {
    EXPECT_EQ(schedule->factor(t), make()->factor(t)) << t;
  }
}

TEST_P(ScheduleConformance, restored_state_continues_as_if_never_stopped) {
  const auto whole = make();
  const auto first = make();
  for (int t = 0; t < 20; ++t) {
    whole->observe(metric(t), false);
    first->observe(metric(t), false);
  }
  const auto second = make();
  second->restore(first->state());
  for (int t = 20; t < 50; ++t) {
    EXPECT_EQ(second->factor(t), whole->factor(t)) << t;
    whole->observe(metric(t), false);
    second->observe(metric(t), false);
  }
  EXPECT_EQ(second->state(), whole->state());
}

TEST_P(ScheduleConformance, state_of_another_schedule_is_harmless) {
  const auto schedule = make();
  schedule->restore({});
  EXPECT_EQ(schedule->factor(0), make()->factor(0));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, entry] : Schedules::all()) {
    all.emplace_back(name);
  }
  return all;
}

// gtest calls names() from main, when every plug-in has registered.
INSTANTIATE_TEST_SUITE_P(All, ScheduleConformance, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kedge::train
