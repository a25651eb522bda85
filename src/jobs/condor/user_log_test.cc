#include "jobs/condor/user_log.h"

#include <chrono>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"

namespace kedge::jobs::condor {
namespace {

using std::chrono::seconds;

// The fixtures are logs of real jobs of HTCondor 23.9.
std::string fixture(const char* name) {
  return read_file(Path(KEDGE_FIXTURES) / "jobs" / name).value();
}

std::vector<Event> events_of(const char* name) {
  return parse_user_log(fixture(name), std::chrono::system_clock::now());
}

SystemTime local(int year, int month, int day, int hour, int minute, int second) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  parts.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&parts));
}

// Two exits with 85, which HTCondor restarts in place and shows as transfers alone, then two
// evictions by condor_vacate_job, then the end.
TEST(CondorUserLog, a_job_that_saved_was_evicted_twice_and_ended) {
  const JobStory story = tell_story(events_of("condor_checkpoints.log"), {1, 0});
  EXPECT_EQ(story.starts, 3);
  EXPECT_EQ(story.evictions, 2);
  EXPECT_EQ(story.transfers_home, 5);
  EXPECT_EQ(story.exit_code, 0);
  EXPECT_FALSE(story.signal);
  EXPECT_TRUE(story.is_over());
  EXPECT_FALSE(story.is_running);
  EXPECT_EQ(story.host, "slot1_1@localhost");
  EXPECT_EQ(story.submitted, local(2026, 11, 15, 17, 40, 50));
  EXPECT_EQ(story.first_start, local(2026, 11, 15, 17, 40, 53));
  EXPECT_EQ(story.ended, local(2026, 11, 15, 17, 41, 27));
}

// An image that the machine could not start, as HTCondor 23.9 wrote it; it tries again for ever.
TEST(CondorUserLog, what_a_machine_could_not_do_is_said) {
  const std::string log =
      "000 (001.000.000) 2026-11-16 05:00:47 Job submitted from host: <127.0.0.1:45825>\n...\n"
      "001 (001.000.000) 2026-11-16 05:00:52 Job executing on host: <127.0.0.1:45825>\n...\n"
      "021 (001.000.000) 2026-11-16 05:01:02 Error from starter on slot1_1@n2@localhost:\n"
      "\tSingularity test failed:FATAL:   container creation failed\n...\n"
      "004 (001.000.000) 2026-11-16 05:01:02 Job was evicted.\n\t(0) CPU times\n...\n";
  const JobStory story = tell_story(parse_user_log(log, std::chrono::system_clock::now()), {1, 0});
  EXPECT_FALSE(story.is_running);
  EXPECT_FALSE(story.is_over());
  EXPECT_EQ(story.reason, "Singularity test failed:FATAL:   container creation failed");
}

TEST(CondorUserLog, requested_against_used_is_read_by_column) {
  const JobStory story = tell_story(events_of("condor_checkpoints.log"), {1, 0});
  const ResourceUse& disk = story.resources.at("Disk (KB)");
  EXPECT_EQ(disk.used, 16) << "the largest of all starts";
  EXPECT_EQ(disk.requested, 10240);
  EXPECT_EQ(disk.allocated, 11264);
  const ResourceUse& gpus = story.resources.at("GPUs");
  EXPECT_FALSE(gpus.used);
  EXPECT_FALSE(gpus.requested);
  EXPECT_EQ(gpus.allocated, 0);
}

TEST(CondorUserLog, a_hold_and_a_removal_are_no_evictions) {
  const auto events = events_of("condor_holds.log");
  const JobStory removed = tell_story(events, {4, 0});
  EXPECT_EQ(removed.evictions, 0);
  EXPECT_EQ(removed.starts, 2);
  EXPECT_TRUE(removed.is_removed);
  EXPECT_FALSE(removed.is_held);
  EXPECT_EQ(removed.reason, "via condor_rm (by user nobody)");
  EXPECT_NEAR(removed.executing_s, 5, 0.01) << "17:46:49 to :54 and 17:47:00 to :00";
}

TEST(CondorUserLog, the_reason_of_a_hold_is_kept) {
  std::string text = fixture("condor_holds.log");
  text.resize(text.find("013 (004.000.000)"));
  const auto events = parse_user_log(text, std::chrono::system_clock::now());
  const JobStory story = tell_story(events, {5, 0});
  EXPECT_TRUE(story.is_held);
  EXPECT_EQ(story.starts, 0) << "its input could not be sent";
  EXPECT_NE(story.reason.find("/nonexistent/file: (errno 2)"), std::string::npos) << story.reason;
}

TEST(CondorUserLog, an_event_that_is_being_written_is_left_for_later) {
  const std::string text = fixture("condor_checkpoints.log");
  const std::size_t end = text.find("005 (001");
  for (const std::size_t cut : {end, end + 20, end + 100, text.size() - 4}) {
    const auto events = parse_user_log(text.substr(0, cut), std::chrono::system_clock::now());
    EXPECT_FALSE(tell_story(events, {1, 0}).is_over()) << cut;
  }
}

// The form before HTCondor 9, from a workshop's example: no year, memory used beyond the request.
TEST(CondorUserLog, dates_without_a_year_are_the_latest_that_are_past) {
  const std::string text =
      "000 (14.000.000) 12/30 23:59:58 Job submitted from host: <10.0.0.1:9618>\n...\n"
      "005 (14.000.000) 01/02 00:10:00 Job terminated.\n"
      "\t(1) Normal termination (return value 3)\n"
      "\tPartitionable Resources :    Usage  Request Allocated\n"
      "\t   Memory (MB)          :     1707     1024      1024\n...\n";
  const auto events = parse_user_log(text, local(2026, 1, 3, 12, 0, 0));
  const JobStory story = tell_story(events, {14, 0});
  EXPECT_EQ(story.submitted, local(2025, 12, 30, 23, 59, 58));
  EXPECT_EQ(story.ended, local(2026, 1, 2, 0, 10, 0));
  EXPECT_EQ(story.exit_code, 3);
  EXPECT_EQ(story.resources.at("Memory (MB)").used, 1707);
}

TEST(CondorUserLog, jobs_of_one_log_do_not_mix_and_rubbish_is_passed_over) {
  const auto events = parse_user_log(
      "no event\n...\n001 (003.001.000) 2026-11-15 17:46:26 Job executing on host: <x>\n...\n"
      "999 (x) nonsense\n...\n",
      std::chrono::system_clock::now());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(tell_story(events, {3, 1}).is_running);
  EXPECT_FALSE(tell_story(events, {3, 0}).is_running);
}

}  // namespace
}  // namespace kedge::jobs::condor
