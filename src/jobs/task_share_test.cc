#include "jobs/task_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobSpec array_of(std::int64_t tasks, std::int64_t per_gpu) {
  JobSpec spec{.name = "x", .command = {"/bin/true"}, .folder = "/tmp", .wants = {}};
  spec.tasks = tasks;
  spec.wants.gpus = 1;
  spec.per_gpu = per_gpu;
  return spec;
}

TEST(TaskShare, ten_tasks_by_four_are_three_jobs) {
  JobSpec spec = array_of(10, 4);
  for (char name = 'a'; name < 'a' + 10; ++name) {
    spec.items.emplace_back(1, name);
  }
  const auto shared = share_gpus(spec);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->tasks, 3);
  EXPECT_EQ(shared->shared, 10);
  EXPECT_THAT(shared->items, ElementsAre("a\tb\tc\td", "e\tf\tg\th", "i\tj"));
}

TEST(TaskShare, one_per_gpu_changes_nothing) {
  const auto shared = share_gpus(array_of(10, 1));
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->tasks, 10);
  EXPECT_EQ(shared->shared, 0);
}

TEST(TaskShare, a_single_job_and_one_without_a_gpu_are_refused) {
  EXPECT_FALSE(share_gpus(array_of(0, 4)));
  JobSpec spec = array_of(8, 4);
  spec.wants.gpus = 0;
  EXPECT_THAT(share_gpus(spec).error().message, HasSubstr("whose jobs have a GPU"));
}

TEST(TaskShare, a_failure_outweighs_a_save_and_a_save_an_end) {
  EXPECT_EQ(join_exit_codes({0, 0}), 0);
  EXPECT_EQ(join_exit_codes({0, 85, 0}), 85);
  EXPECT_EQ(join_exit_codes({85, 1, 0}), 1);
  EXPECT_EQ(join_exit_codes({3, 85, 139}), 139);
}

}  // namespace
}  // namespace kedge::jobs
