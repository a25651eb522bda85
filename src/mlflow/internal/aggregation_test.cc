#include "mlflow/internal/aggregation.h"

#include <vector>

#include <gtest/gtest.h>

namespace kedge::mlflow {
namespace {

using Kind = Aggregation::Kind;

TEST(aggregate, counts_sums_and_ends) {
  const std::vector<double> values = {1, 2, 4, 8};
  EXPECT_EQ(aggregate({Kind::Count}, values), 4);
  EXPECT_EQ(aggregate({Kind::Sum}, values), 15);
  EXPECT_EQ(aggregate({Kind::Avg}, values), 3.75);
  EXPECT_EQ(aggregate({Kind::Min}, values), 1);
  EXPECT_EQ(aggregate({Kind::Max}, values), 8);
}

// numpy.percentile([1, 2, 4, 8], ...)
TEST(aggregate, percentiles_are_numpys) {
  const std::vector<double> values = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(aggregate({Kind::Percentile, 0}, values), 1);
  EXPECT_DOUBLE_EQ(aggregate({Kind::Percentile, 50}, values), 3);
  EXPECT_DOUBLE_EQ(aggregate({Kind::Percentile, 90}, values), 6.8);
  EXPECT_DOUBLE_EQ(aggregate({Kind::Percentile, 100}, values), 8);
  EXPECT_DOUBLE_EQ(aggregate({Kind::Percentile, 37}, {5}), 5);
}

TEST(aggregate, labels_are_those_that_clients_read) {
  EXPECT_EQ(Aggregation{Kind::Avg}.label(), "AVG");
  EXPECT_EQ((Aggregation{Kind::Percentile, 99.9}.label()), "P99.9");
  EXPECT_EQ((Aggregation{Kind::Percentile, 50}.label()), "P50.0");
}

}  // namespace
}  // namespace kedge::mlflow
