#include "config/interval.h"

#include <gtest/gtest.h>

namespace kedge::config {
namespace {

TEST(SaveInterval, counts_epochs_steps_and_time) {
  EXPECT_EQ(parse_save_interval("3")->epochs, 3);
  EXPECT_EQ(parse_save_interval("1 epoch")->epochs, 1);
  EXPECT_EQ(parse_save_interval("500 steps")->steps, 500);
  EXPECT_EQ(parse_save_interval("500steps")->steps, 500);
  EXPECT_EQ(parse_save_interval("10m")->time.value, 600);
  EXPECT_EQ(parse_save_interval("01:00:00")->time.value, 3600);
  EXPECT_TRUE(parse_save_interval("auto")->is_auto);
}

TEST(SaveInterval, never_and_0_are_never) {
  for (const char* text : {"never", "0", "0 steps"}) {
    const auto interval = parse_save_interval(text);
    ASSERT_TRUE(interval) << text;
    EXPECT_FALSE(interval->is_auto);
    EXPECT_EQ(interval->epochs + interval->steps, 0);
    EXPECT_EQ(interval->time.value, 0);
  }
}

TEST(SaveInterval, says_what_can_be_written) {
  for (const char* text : {"", "often", "-1", "3 weeks of work", "1.5 epochs", "step 3"}) {
    const auto interval = parse_save_interval(text);
    ASSERT_FALSE(interval) << text;
    EXPECT_NE(interval.error().message.find("500 steps"), std::string::npos);
  }
}

TEST(KeepInterval, has_no_time_and_no_auto) {
  EXPECT_EQ(parse_keep_interval("10 epochs")->epochs, 10);
  EXPECT_FALSE(parse_keep_interval("auto"));
  EXPECT_FALSE(parse_keep_interval("10m"));
}

TEST(Crash, names_an_epoch_a_step_or_chance) {
  EXPECT_EQ(parse_crash("epoch 3")->epoch, 3);
  EXPECT_EQ(parse_crash("step 120")->step, 120);
  EXPECT_TRUE(parse_crash("random")->is_random);
  EXPECT_EQ(parse_crash("never")->epoch, 0);
  for (const char* text : {"3", "epoch", "epoch 0", "step -1", "sometimes", ""}) {
    EXPECT_FALSE(parse_crash(text)) << text;
  }
}

}  // namespace
}  // namespace kedge::config
