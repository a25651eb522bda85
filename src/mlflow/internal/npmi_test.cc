#include "mlflow/internal/npmi.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kedge::mlflow {
namespace {

// What mlflow.store.analytics.trace_correlation of MLflow 3.17 says of the same counts.
TEST(npmi, is_that_of_mlflow) {
  constexpr double kRounding = 1e-12;
  const PairCounts often = {.total = 10, .first = 6, .second = 7, .both = 6};
  EXPECT_NEAR(npmi(often), 0.6982322877799215, kRounding);
  EXPECT_NEAR(npmi(often, 0.5), 0.5404578674731575, kRounding);
  const PairCounts rare = {.total = 100, .first = 20, .second = 15, .both = 10};
  EXPECT_NEAR(npmi(rare), 0.5228787452803378, kRounding);
  EXPECT_NEAR(npmi(rare, 0.5), 0.5098689991831412, kRounding);
  const PairCounts never = {.total = 10, .first = 3, .second = 4, .both = 0};
  EXPECT_NEAR(npmi(never, 0.5), -0.3788396511188485, kRounding);
}

TEST(npmi, always_never_and_not_known) {
  EXPECT_EQ(npmi({.total = 10, .first = 10, .second = 10, .both = 10}), 1);
  EXPECT_EQ(npmi({.total = 10, .first = 10, .second = 10, .both = 10}, 0.5), 1);
  EXPECT_EQ(npmi({.total = 10, .first = 3, .second = 4, .both = 0}), -1);
  EXPECT_TRUE(std::isnan(npmi({.total = 10, .first = 0, .second = 4, .both = 0})));
  EXPECT_TRUE(std::isnan(npmi({})));
}

}  // namespace
}  // namespace kedge::mlflow
