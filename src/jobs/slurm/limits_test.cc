#include "jobs/slurm/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs::slurm {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// What `sinfo -h -o "%P|%D|%l|%s"` of Slurm 22.05 prints: a line per partition and node state.
constexpr std::string_view kSinfo =
    "main*|1|infinite|1-infinite\n"
    "main*|3|infinite|1-infinite\n"
    "short|2|5:00|1-infinite\n"
    "day|8|1-00:00:00|1-2\n";

JobSpec job(const std::string& queue, double time_s, std::int64_t nodes = 1) {
  JobSpec spec{.name = "x", .command = {"/bin/true"}, .folder = "/tmp", .wants = {}};
  spec.wants.queue = queue;
  spec.wants.time = {time_s};
  spec.wants.nodes = nodes;
  return spec;
}

std::string refusal(const JobSpec& spec) {
  const auto checked = check_limits(spec, parse_partitions(kSinfo));
  return checked ? "" : checked.error().message;
}

TEST(SlurmLimits, lines_of_one_partition_are_added_up) {
  const auto partitions = parse_partitions(kSinfo);
  ASSERT_THAT(partitions, SizeIs(3));
  EXPECT_EQ(partitions[0].name, "main");
  EXPECT_TRUE(partitions[0].is_default);
  EXPECT_EQ(partitions[0].nodes, 4);
  EXPECT_FALSE(partitions[0].time_s);
  EXPECT_EQ(partitions[1].time_s, 300);
  EXPECT_EQ(partitions[2].time_s, 86400);
  EXPECT_EQ(partitions[2].job_nodes, 2);
}

TEST(SlurmLimits, what_fits_is_not_refused) {
  EXPECT_EQ(refusal(job("", 30 * 86400, 4)), "");
  EXPECT_EQ(refusal(job("short", 300)), "");
  EXPECT_EQ(refusal(job("short,day", 7200)), "") << "one of them is enough";
  EXPECT_EQ(refusal(job("nowhere", 7200)), "") << "sbatch knows better";
}

TEST(SlurmLimits, a_time_beyond_the_partitions_is_refused) {
  EXPECT_EQ(refusal(job("short", 7200)), "job.time is 2h00m, and partition short allows 5m00s");
}

TEST(SlurmLimits, a_training_is_told_that_it_can_go_on) {
  JobSpec spec = job("short", 7200);
  spec.is_kedge = true;
  EXPECT_THAT(check_limits(spec, parse_partitions(kSinfo)).error().hint,
              HasSubstr("the next start goes on"));
}

TEST(SlurmLimits, more_nodes_than_a_job_may_have_are_refused) {
  EXPECT_EQ(refusal(job("", 60, 9)), "job.nodes is 9, and partition main gives a job 4");
  EXPECT_EQ(refusal(job("day", 60, 3)), "job.nodes is 3, and partition day gives a job 2");
}

TEST(SlurmLimits, the_limit_of_arrays_is_read) {
  EXPECT_EQ(parse_array_limit("MailProg = /bin/mail\nMaxArraySize            = 1001\n"), 1001);
  EXPECT_EQ(parse_array_limit("MailProg = /bin/mail\n"), 0);
}

}  // namespace
}  // namespace kedge::jobs::slurm
