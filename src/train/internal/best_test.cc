#include "train/internal/best.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kedge::train {
namespace {

TEST(Best, auto_goes_by_the_name) {
  EXPECT_FALSE(more_is_better(config::Goal::Auto, "val/loss"));
  EXPECT_FALSE(more_is_better(config::Goal::Auto, "val/perplexity"));
  EXPECT_TRUE(more_is_better(config::Goal::Auto, "val/accuracy"));
  EXPECT_TRUE(more_is_better(config::Goal::Maximize, "val/loss"));
}

TEST(Best, a_change_within_delta_is_no_improvement) {
  Best best(false, 0.1);
  EXPECT_TRUE(best.observe(1.0));
  EXPECT_FALSE(best.observe(0.95));
  EXPECT_EQ(best.since(), 1);
  EXPECT_TRUE(best.observe(0.89));
  EXPECT_EQ(best.since(), 0);
  EXPECT_EQ(best.value(), 0.89);
}

TEST(Best, nan_is_never_better) {
  Best best(true, 0);
  EXPECT_FALSE(best.observe(std::nan("")));
  EXPECT_TRUE(best.observe(-5));
  EXPECT_FALSE(best.observe(std::nan("")));
  EXPECT_EQ(best.since(), 1);
}

}  // namespace
}  // namespace kedge::train
