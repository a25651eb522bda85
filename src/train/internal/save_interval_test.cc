#include "train/internal/save_interval.h"

#include <gtest/gtest.h>

namespace kedge::train {
namespace {

track::AttemptFacts attempt(double seconds, const char* state) {
  track::AttemptFacts facts;
  facts.seconds = seconds;
  facts.state = state;
  return facts;
}

// arXiv 2410.18124, "availability-optimal interval": T = sqrt(2 * Tf * Ts).
TEST(SaveInterval, is_youngs) {
  const SaveInterval interval = choose_interval(2, 3600);
  EXPECT_DOUBLE_EQ(interval.seconds, 120);
  EXPECT_DOUBLE_EQ(interval.loss, 2.0 / 120 + 120.0 / 7200);
}

TEST(SaveInterval, no_other_interval_loses_less) {
  const SaveInterval best = choose_interval(5, 40000);
  for (const double other : {best.seconds * 0.8, best.seconds * 1.25}) {
    EXPECT_LT(best.loss, 5 / other + other / 80000);
  }
}

TEST(SaveInterval, stays_between_15_s_and_1_h) {
  EXPECT_DOUBLE_EQ(choose_interval(1e-6, 60).seconds, 15);
  EXPECT_DOUBLE_EQ(choose_interval(600, 1e6).seconds, 3600);
}

TEST(SaveInterval, failures_shorten_it) {
  const FailureRate none = observed_failures({});
  EXPECT_DOUBLE_EQ(none.mean_s, 86400);
  const FailureRate two = observed_failures(
      {attempt(3600, "killed"), attempt(1800, "failed"), attempt(600, "interrupted")});
  EXPECT_EQ(two.failures, 2);
  EXPECT_DOUBLE_EQ(two.mean_s, (86400 + 6000) / 3.0);
}

}  // namespace
}  // namespace kedge::train
