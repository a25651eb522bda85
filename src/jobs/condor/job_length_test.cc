#include "jobs/condor/job_length.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge::jobs::condor {
namespace {

std::string choose(double hours) {
  const auto length = choose_job_length(hours * 3600);
  return length ? std::string(length->name) : "none";
}

// CHTC: short 12 h, medium 24 h, long 7 days; a fifth of an estimate is kept to spare.
TEST(JobLength, the_shortest_class_that_holds_the_estimate_with_room) {
  EXPECT_EQ(choose(0.1), "short");
  EXPECT_EQ(choose(10), "short");
  EXPECT_EQ(choose(10.1), "medium");
  EXPECT_EQ(choose(20), "medium");
  EXPECT_EQ(choose(20.1), "long");
  EXPECT_EQ(choose(140), "long");
  EXPECT_EQ(choose(141), "none");
}

}  // namespace
}  // namespace kedge::jobs::condor
