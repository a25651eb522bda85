#include "train/internal/stop_rule.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::train {
namespace {

using testing::HasSubstr;

class StopRuleTest : public testing::Test {
 protected:
  StopRule rule(const std::optional<TimeLimit>& limit = {}) {
    return {config_, signals_, limit, now_};
  }

  StopSignals signals_;
  config::Config config_;
  StopRule::Clock::time_point now_ = StopRule::Clock::now();
};

TEST_F(StopRuleTest, without_limits_training_goes_on) {
  EXPECT_EQ(rule().reason(1000, 1e6), std::nullopt);
}

TEST_F(StopRuleTest, a_signal_stops_it_by_name) {
  const StopRule stop = rule();
  std::raise(SIGUSR1);
  EXPECT_EQ(stop.reason(1, 0), "SIGUSR1");
}

TEST_F(StopRuleTest, stops_when_only_the_time_to_save_is_left) {
  const StopRule stop =
      rule(TimeLimit{.end = now_ + std::chrono::seconds(60), .source = "Slurm job 7"});
  EXPECT_EQ(stop.reason(1, 30), std::nullopt);
  EXPECT_THAT(stop.reason(1, 60).value(), HasSubstr("Slurm job 7"));
}

TEST_F(StopRuleTest, the_nearer_of_two_limits_counts) {
  config_.train.max_time = {10};
  const StopRule stop =
      rule(TimeLimit{.end = now_ + std::chrono::hours(1), .source = "Slurm job 7"});
  EXPECT_EQ(stop.limit_text(), "train.max_time 10.0s");
  EXPECT_EQ(stop.reason(1, 5), std::nullopt);
  EXPECT_THAT(stop.reason(1, 11).value(), HasSubstr("max_time"));
}

TEST_F(StopRuleTest, exits_every_so_often_for_htcondor) {
  config_.job.checkpoint_every = {3600};
  EXPECT_EQ(rule().reason(1, 1e5), std::nullopt) << "it is no limit: nothing is reserved";
  now_ -= std::chrono::hours(2);
  EXPECT_EQ(rule().reason(1, 0), "job.checkpoint_every");
}

TEST_F(StopRuleTest, a_last_step_can_be_asked_for) {
  StopRule stop = rule();
  stop.stop_after(20);
  EXPECT_EQ(stop.reason(19, 0), std::nullopt);
  EXPECT_TRUE(stop.reason(20, 0));
  EXPECT_EQ(stop.reason(0), std::nullopt);
}

}  // namespace
}  // namespace kedge::train
