#include "jobs/time_limit.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/scratch_folder.h"
#include "jobs/condor/inside.h"
#include "jobs/internal/time_text.h"
#include "jobs/slurm/inside.h"

namespace kedge::jobs {
namespace {

using condor::find_condor_start;
using condor::parse_job_ad_end;
using slurm::parse_squeue_end;
using std::chrono::seconds;

SystemTime at(std::int64_t unix_seconds) {
  return SystemTime(seconds(unix_seconds));
}

std::string fixture(const char* name) {
  return read_file(Path(KEDGE_FIXTURES) / "jobs" / name).value();
}

JobEnvironment with(std::map<std::string, std::string> variables) {
  return {
      .variables = std::move(variables), .process_start = at(1'000'000), .programs = "/no/such"};
}

// An executable file in place of squeue.
JobEnvironment with_squeue(const ScratchFolder& scratch, const std::string& script) {
  const Path file = scratch / "squeue";
  std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  JobEnvironment environment = with({{"SLURM_JOB_ID", "12"}});
  environment.programs = scratch.path();
  return environment;
}

TEST(TimeLimit, outside_a_job_there_is_none) {
  EXPECT_FALSE(find_time_limit(with({})));
}

TEST(TimeLimit, a_launchers_word_comes_first) {
  const auto limit = find_time_limit(
      with({{"KEDGE_JOB_END", "1794733200"}, {"SLURM_JOB_END_TIME", "1794733300"}}));
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->end, at(1794733200));
  EXPECT_EQ(limit->source, "KEDGE_JOB_END");
}

TEST(TimeLimit, slurm_says_the_end_in_the_environment) {
  const auto limit =
      find_time_limit(with({{"SLURM_JOB_END_TIME", "1794733300"}, {"SLURM_JOB_ID", "12"}}));
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->end, at(1794733300));
}

TEST(TimeLimit, what_is_not_a_time_is_not_used) {
  for (const char* text :
       {"", "soon", "-5", "0", "12x", "1e9", " 1794733200", "99999999999999999"}) {
    EXPECT_FALSE(find_time_limit(with({{"KEDGE_JOB_END", text}}))) << text;
  }
}

TEST(TimeLimit, squeue_is_asked_for_this_job) {
  const ScratchFolder scratch;
  const auto limit = find_time_limit(with_squeue(
      scratch,
      "[ \"$*|$TZ|$SLURM_TIME_FORMAT\" = '-h -j 12 -o %A %e|UTC0|standard' ] || exit 1\n"
      "echo '12 2026-11-15T10:00:00'"));
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->end, at(1794736800));  // date -u -d 2026-11-15T10:00:00 +%s
  EXPECT_EQ(limit->source, "Slurm job 12 (squeue)");
}

TEST(TimeLimit, a_dead_controller_does_not_hold_the_job_up) {
  const ScratchFolder scratch;
  JobEnvironment environment = with_squeue(scratch, "sleep 600");
  environment.patience = std::chrono::milliseconds(100);
  EXPECT_FALSE(find_time_limit(environment));
  EXPECT_FALSE(find_time_limit(with_squeue(scratch, "echo 'Unable to contact' >&2; exit 1")));
  environment.programs = scratch / "none";
  EXPECT_FALSE(find_time_limit(environment));
}

TEST(TimeLimit, the_line_of_the_job_counts_among_those_of_its_array) {
  // squeue of Slurm 22.05.8 for an array of two tasks with a limit of three minutes.
  const std::string output = fixture("squeue_array.txt");
  ASSERT_EQ(std::count(output.begin(), output.end(), '\n'), 2);
  EXPECT_EQ(parse_squeue_end("7 2026-11-15T10:00:00\n71 2026-11-15T11:00:00\n", "71"),
            at(1794740400));
  EXPECT_EQ(parse_squeue_end("71 2026-11-15T11:00:00\n", "7"), std::nullopt);
  const std::string last = output.substr(output.find('\n') + 1);
  EXPECT_EQ(parse_squeue_end(output, last.substr(0, last.find(' '))),
            parse_utc(last.substr(last.find(' ') + 1, 19)));
}

TEST(TimeLimit, a_job_without_a_limit_has_none) {
  const std::string output = fixture("squeue_unlimited.txt");
  const std::string job = output.substr(0, output.find(' '));
  EXPECT_EQ(output, job + " NONE\n");
  EXPECT_FALSE(parse_squeue_end(output, job));
  EXPECT_FALSE(parse_squeue_end("12 N/A\n", "12"));
  EXPECT_FALSE(parse_squeue_end("12 UNLIMITED\n", "12"));
  EXPECT_FALSE(parse_squeue_end("", "12"));
}

TEST(TimeLimit, only_real_times_are_times) {
  EXPECT_EQ(parse_utc("1970-01-01T00:00:01"), at(1));
  EXPECT_EQ(parse_utc("2028-02-29T23:59:59"), at(1835481599));  // date -u -d ... +%s
  for (const char* text :
       {"2027-02-29T00:00:00", "2026-13-01T00:00:00", "2026-11-15T24:00:00", "2026-11-15 10:00:00",
        "2026-11-15T10:00", "2026-11-15T10:00:0x", "0000-00-00T00:00:00", "9999-01-01T00:00:00"}) {
    EXPECT_FALSE(parse_utc(text)) << text;
  }
}

// The ads are what HTCondor 23.9.6 gave to real jobs, without the attributes that hold text.
TEST(TimeLimit, a_condor_job_ends_when_its_execution_may_last_no_longer) {
  const std::string ad = fixture("condor_execute_60.ad");
  EXPECT_EQ(parse_job_ad_end(ad, at(1794728633)), at(1794728693));
}

TEST(TimeLimit, the_earlier_of_both_condor_limits_counts) {
  const std::string ad = fixture("condor_first_run.ad");  // 600 to execute, 900 in all
  EXPECT_EQ(parse_job_ad_end(ad, at(1794728724)), at(1794728724 + 600));
  EXPECT_EQ(parse_job_ad_end(ad, at(1794728724 + 400)), at(1794728724 + 900));
}

TEST(TimeLimit, the_stale_execution_start_of_a_second_run_is_not_used) {
  const std::string ad = fixture("condor_second_run.ad");
  EXPECT_NE(ad.find("\nJobCurrentStartExecutingDate = 1794728724\n"), std::string::npos);
  EXPECT_NE(ad.find("\nJobCurrentStartDate = 1794728730\n"), std::string::npos);
  EXPECT_EQ(parse_job_ad_end(ad, at(1794728730)), at(1794728730 + 600));
}

TEST(TimeLimit, a_condor_job_without_limits_has_none) {
  EXPECT_FALSE(parse_job_ad_end(fixture("condor_no_limit.ad"), at(1794728633)));
  EXPECT_FALSE(parse_job_ad_end("AllowedJobDuration = undefined\n", at(1)));
  EXPECT_FALSE(parse_job_ad_end("AllowedJobDuration = 2 * 3600\n", at(1)));
  EXPECT_FALSE(parse_job_ad_end("XAllowedJobDuration = 5\nAllowedJobDurationX = 5\n", at(1)));
}

TEST(TimeLimit, condor_jobs_start_with_their_youngest_ancestor) {
  const std::map<std::string, std::string> variables = {
      {"_CONDOR_ANCESTOR_30672", "30689:1794728607:501840282"},
      {"_CONDOR_ANCESTOR_30689", "31594:1794728730:1798837907"},
      {"_CONDOR_ANCESTOR_31594", "31631:1794728733:2286144066"},
      {"_CONDOR_ANCESTOR_9", "nonsense"},
      {"_CONDOR_BIN", "1:1894728733:1"}};
  EXPECT_EQ(find_condor_start(variables), at(1794728733));
  EXPECT_FALSE(find_condor_start({}));
}

TEST(TimeLimit, the_job_ad_file_is_read) {
  const std::string ad = (Path(KEDGE_FIXTURES) / "jobs/condor_execute_60.ad").string();
  auto limit =
      find_time_limit(with({{"_CONDOR_JOB_AD", ad}, {"_CONDOR_ANCESTOR_1", "2:1794728633:3"}}));
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->end, at(1794728693));
  EXPECT_EQ(limit->source, "HTCondor job ad");
  limit = find_time_limit(with({{"_CONDOR_JOB_AD", ad}}));
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->end, at(1'000'060));
  EXPECT_FALSE(find_time_limit(with({{"_CONDOR_JOB_AD", "/no/such/file"}})));
}

TEST(TimeLimit, the_environment_of_this_process_is_found) {
  const JobEnvironment environment = JobEnvironment::of_this_process();
  EXPECT_EQ(environment.variables.at("PATH"), std::getenv("PATH"));
  const auto age = std::chrono::system_clock::now() - environment.process_start;
  EXPECT_GE(age, seconds(-1));
  EXPECT_LT(age, std::chrono::hours(1));
}

}  // namespace
}  // namespace kedge::jobs
