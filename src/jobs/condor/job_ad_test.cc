#include "jobs/condor/job_ad.h"

#include <string>

#include <gtest/gtest.h>

#include "core/file.h"

namespace kedge::jobs::condor {
namespace {

// The fixtures are what HTCondor 23.9 printed.
std::string fixture(const char* name) {
  return read_file(Path(KEDGE_FIXTURES) / "jobs" / name).value();
}

TEST(CondorJobAd, an_empty_queue_prints_nothing_at_all) {
  for (const char* text : {"", "\n", "[]\n", "[\n]\n"}) {
    const auto jobs = parse_job_ads(text);
    ASSERT_TRUE(jobs) << '"' << text << '"';
    EXPECT_TRUE(jobs->empty());
  }
}

TEST(CondorJobAd, a_running_job) {
  const auto jobs = parse_job_ads(fixture("condor_q_running.json")).value();
  ASSERT_EQ(jobs.size(), 1U);
  const JobAd& job = jobs.front();
  EXPECT_EQ(job.id, (JobId{1, 0}));
  EXPECT_EQ(job.status, JobStatus::Running);
  EXPECT_EQ(job.host, "slot1_1@n2@localhost");
  EXPECT_EQ(job.memory_request_mb, 100);
  EXPECT_EQ(job.disk_request_kb, 2048) << "RequestDisk is an expression; what was given counts";
  EXPECT_EQ(job.started_s, 1794710792);
  EXPECT_EQ(job.ended_s, 0);
  EXPECT_FALSE(job.exit_code);
}

// As condor_q -json printed it for a job that asked for a container where no machine has one.
TEST(CondorJobAd, a_job_that_fits_nowhere_says_so) {
  const std::string ad =
      R"({"ClusterId": 8, "ProcId": 0, "JobStatus": 1, "LastRejMatchReason": "no match found ",
          "LastRejMatchTime": 1794805185)";
  const auto waiting = parse_job_ads("[" + ad + "}]").value();
  EXPECT_EQ(waiting.front().reason,
            "no machine of the pool fits or is free: condor_q -better-analyze 8.0");
  // It has had a machine since then.
  const auto matched = parse_job_ads("[" + ad + R"(, "LastMatchTime": 1794805190}])").value();
  EXPECT_EQ(matched.front().reason, "");
}

TEST(CondorJobAd, ended_jobs_have_their_exit_codes) {
  const auto jobs = parse_job_ads(fixture("condor_history.json")).value();
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].id, (JobId{1, 5}));
  EXPECT_EQ(jobs[0].exit_code, 0);
  EXPECT_EQ(jobs[0].ended_s, 1794708915);
  EXPECT_EQ(jobs[1].id, (JobId{1, 3}));
  EXPECT_EQ(jobs[1].exit_code, 5);
}

TEST(CondorJobAd, held_jobs_say_why) {
  const auto jobs = parse_job_ads(fixture("condor_q_held.json")).value();
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].mark, "kedge:abc123/1");
  EXPECT_EQ(jobs[0].reason, "via condor_hold (by user nobody)");
  EXPECT_EQ(jobs[1].hold_code, 13);
  EXPECT_EQ(jobs[1].starts, 0);
}

TEST(CondorJobAd, two_schedds_give_two_arrays) {
  const std::string one = fixture("condor_q_held.json");
  EXPECT_EQ(parse_job_ads(one + "\n" + one).value().size(), 4U);
}

TEST(CondorJobAd, what_is_no_answer_is_an_error) {
  for (const char* text : {"-- Failed to fetch ads from: <127.0.0.1:9618>", "[{", "[{}]", "{}"}) {
    EXPECT_FALSE(parse_job_ads(text)) << text;
  }
}

}  // namespace
}  // namespace kedge::jobs::condor
