#include "train/internal/simulated_crash.h"

#include <csignal>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kedge::train {
namespace {

TEST(SimulatedCrash, a_random_one_is_at_one_of_the_epochs_3_to_8) {
  std::set<std::int64_t> epochs;
  for (int i = 0; i < 200; ++i) {
    epochs.insert(SimulatedCrash({.is_random = true}, "run-" + std::to_string(i), 1).epoch());
  }
  EXPECT_EQ(epochs, (std::set<std::int64_t>{3, 4, 5, 6, 7, 8}));
}

TEST(SimulatedCrash, happens_only_in_the_first_attempt) {
  const SimulatedCrash second({.epoch = 2, .step = 5}, "run", 2);
  EXPECT_EQ(second.epoch(), 0);
  second.at_epoch(2);
  second.after_step(5);
}

TEST(SimulatedCrashDeathTest, ends_the_process_at_an_epoch_and_kills_it_at_a_step) {
  const SimulatedCrash crash({.epoch = 2, .step = 5}, "run", 1);
  crash.at_epoch(1);
  crash.after_step(4);
  EXPECT_EXIT(crash.at_epoch(2), testing::ExitedWithCode(1), "simulated crash at epoch 2");
  EXPECT_EXIT(crash.after_step(5), testing::KilledBySignal(SIGKILL), "");
}

}  // namespace
}  // namespace kedge::train
