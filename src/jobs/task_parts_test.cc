#include "jobs/task_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Slurm's MaxArraySize of 1001 allows the indices 0 to 1000.
TEST(TaskParts, an_array_that_fits_is_one_part) {
  const auto parts = split_tasks(1001, {}, 1001);
  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_THAT(parts[0].tasks, IsEmpty());
  EXPECT_EQ(parts[0].offset, 0);
}

TEST(TaskParts, no_limit_is_one_part) {
  EXPECT_THAT(split_tasks(1'000'000, {}, 0), SizeIs(1));
}

TEST(TaskParts, a_larger_array_is_cut_and_no_index_reaches_the_limit) {
  const auto parts = split_tasks(2500, {}, 1001);
  ASSERT_THAT(parts, SizeIs(3));
  std::int64_t next = 0;
  for (const TaskPart& part : parts) {
    for (const std::int64_t task : part.tasks) {
      EXPECT_EQ(task, next++);
      EXPECT_GE(task - part.offset, 0);
      EXPECT_LT(task - part.offset, 1001);
    }
  }
  EXPECT_EQ(next, 2500);
  EXPECT_EQ(parts[1].offset, 1001);
}

TEST(TaskParts, a_retry_of_high_numbers_counts_from_its_first) {
  const auto parts = split_tasks(2500, {1700, 3, 1500, 4}, 1001);
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_THAT(parts[0].tasks, ElementsAre(3, 4));
  EXPECT_EQ(parts[0].offset, 0);
  EXPECT_THAT(parts[1].tasks, ElementsAre(1500, 1700));
  EXPECT_EQ(parts[1].offset, 1500);
}

}  // namespace
}  // namespace kedge::jobs
