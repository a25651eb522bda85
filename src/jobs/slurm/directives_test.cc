#include "jobs/slurm/directives.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs::slurm {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kOwn = {"--job-name=x", "--comment=kedge:abc/1", "--nodes=1",
                                       "--mem=100M", "--requeue"};

std::string error_of(const std::string& directive, const std::vector<std::string>& own = kOwn) {
  const auto merged = merge_directives(own, {directive});
  return merged ? "taken" : merged.error().message + "; " + merged.error().hint;
}

TEST(Directives, what_kedge_does_not_say_is_taken_as_it_is) {
  const auto merged = merge_directives(kOwn, {"--exclusive", "--nice=5", "-x n7", "--gres=disk:2"});
  ASSERT_TRUE(merged);
  EXPECT_THAT(*merged,
              testing::IsSupersetOf({"--exclusive", "--nice=5", "-x n7", "--gres=disk:2"}));
}

TEST(Directives, a_comment_stands_beside_the_mark) {
  for (const char* text : {"--comment=team x", "--comment 'team x'", "--comment=\"team x\""}) {
    const auto merged = merge_directives(kOwn, {text});
    ASSERT_TRUE(merged) << text;
    EXPECT_EQ(merged->at(1), "--comment=team x kedge:abc/1");
    EXPECT_EQ(merged->size(), kOwn.size());
  }
  EXPECT_EQ(mark_in("team x kedge:abc/1"), "kedge:abc/1");
  EXPECT_EQ(mark_in("kedge:abc/1"), "kedge:abc/1");
  EXPECT_EQ(mark_in("team"), "");
  EXPECT_EQ(mark_in(""), "");
}

TEST(Directives, what_would_make_another_job_is_refused_with_the_key_to_use) {
  EXPECT_THAT(error_of("--array=1-3"), HasSubstr("--tasks"));
  EXPECT_THAT(error_of("-a 1-3"), HasSubstr("--tasks"));
  EXPECT_THAT(error_of("--no-requeue"), HasSubstr("job.continuation=chain"));
  EXPECT_THAT(error_of("-J other"), HasSubstr("--name"));
  EXPECT_THAT(error_of("-o/tmp/x"), HasSubstr("job.output"));
  EXPECT_THAT(error_of("--exclusive --dependency=singleton"), HasSubstr("--after"));
}

TEST(Directives, what_kedge_says_already_is_refused_with_the_key) {
  EXPECT_THAT(error_of("--nodes=2"), HasSubstr("job.nodes"));
  EXPECT_THAT(error_of("-N2"), HasSubstr("job.nodes"));
  EXPECT_THAT(error_of("--mem-per-cpu=2G"), HasSubstr("job.memory"));
}

TEST(Directives, what_kedge_was_told_to_leave_out_is_the_users) {
  const std::vector<std::string> own = {"--comment=kedge:abc/1", "--nodes=1"};
  EXPECT_EQ(error_of("--mem-per-cpu=2G", own), "taken");
  EXPECT_EQ(error_of("--gres=gpu:a100:2", own), "taken");
  EXPECT_EQ(error_of("--partition=main", own), "taken");
}

}  // namespace
}  // namespace kedge::jobs::slurm
