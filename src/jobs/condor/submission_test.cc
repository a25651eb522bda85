#include "jobs/condor/submission.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs::condor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr double kHour_s = 3600;

JobSpec gpu_lab_job() {
  JobSpec spec{.name = "x", .command = {"/bin/train"}, .folder = "/tmp", .wants = {}};
  spec.wants.gpus = 1;
  spec.wants.queue = "gpulab";
  spec.wants.time = {2 * kHour_s};
  return spec;
}

std::string class_of(const JobSpec& spec) {
  const auto file =
      make_submit_file(spec, {.key = "k", .folder = "/tmp/k", .kedge = {}, .ids = {}});
  return file ? file->site.gpu_job_length : file.error().message;
}

// CHTC: short 12 h, medium 24 h, long 7 days.
TEST(CondorSubmission, without_an_estimate_the_limit_chooses_the_class) {
  JobSpec spec = gpu_lab_job();
  EXPECT_EQ(class_of(spec), "short");
  spec.wants.time = {12 * kHour_s};
  EXPECT_EQ(class_of(spec), "short");
  spec.wants.time = {13 * kHour_s};
  EXPECT_EQ(class_of(spec), "medium");
}

TEST(CondorSubmission, an_estimate_chooses_the_class_with_a_fifth_to_spare) {
  JobSpec spec = gpu_lab_job();
  spec.wants.time = {100 * kHour_s};
  spec.estimate_s = 9.9 * kHour_s;
  EXPECT_EQ(class_of(spec), "short");
  spec.estimate_s = 11 * kHour_s;
  EXPECT_EQ(class_of(spec), "medium");
  spec.estimate_s = 30 * kHour_s;
  EXPECT_EQ(class_of(spec), "long");
}

TEST(CondorSubmission, more_than_a_week_is_long_for_what_goes_on_and_refused_for_others) {
  JobSpec spec = gpu_lab_job();
  spec.estimate_s = 300 * kHour_s;
  EXPECT_THAT(class_of(spec), HasSubstr("longer than the longest class"));
  spec.wants.resumable = true;
  spec.wants.outputs = {"saved"};
  EXPECT_EQ(class_of(spec), "long");
}

TEST(CondorSubmission, several_machines_are_one_parallel_job_in_a_shared_folder) {
  JobSpec spec = gpu_lab_job();
  spec.wants.nodes = 3;
  spec.wants.retries = 2;
  const SubmissionPlace place{.key = "k", .folder = "/tmp/k", .kedge = {}, .ids = {}};
  const auto file = make_submit_file(spec, place);
  ASSERT_TRUE(file) << file.error().message;
  const auto text = render(*file);
  ASSERT_TRUE(text) << text.error().message;
  for (const char* line : {"universe = parallel", "machine_count = 3", "should_transfer_files = NO",
                           "+ParallelShutdownPolicy = \"WAIT_FOR_ALL\"", "output = /dev/null",
                           "ExitCode =!= 85 && NumJobCompletions > 2"}) {
    EXPECT_THAT(*text, HasSubstr(line));
  }
  spec.tasks = 4;
  EXPECT_THAT(make_submit_file(spec, place).error().message, HasSubstr("job.nodes is 3"));
}

TEST(CondorSubmission, a_session_asks_for_what_the_job_would) {
  JobSpec spec = gpu_lab_job();
  spec.wants.gpu_capability = "8.0";
  spec.wants.container = "catdog.sif";
  const auto words = session_words(spec);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(words->front(), "condor_submit");
  for (const char* line : {"request_gpus = 1", "gpus_minimum_capability = 8.0",
                           "container_image = catdog.sif", "+WantGPULab = true"}) {
    EXPECT_THAT(*words, Contains(line));
  }
  EXPECT_THAT(*words, Not(Contains(HasSubstr("executable"))));
}

}  // namespace
}  // namespace kedge::jobs::condor
