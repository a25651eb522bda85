#include "jobs/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs {
namespace {

using testing::HasSubstr;

constexpr double kHour_s = 3600;

JobSpec training() {
  JobSpec spec{.name = "x", .command = {"/bin/kedge", "train"}, .folder = "/tmp", .wants = {}};
  spec.is_kedge = true;
  spec.wants.gpus = 1;
  return spec;
}

SiteMachine machine(std::int64_t gpus, const std::string& name) {
  SiteMachine made{
      .name = "n", .cpus = 16, .memory_mb = 64000, .gpus = gpus, .gpu_name = "NVIDIA " + name};
  complete_gpu(made);
  return made;
}

std::string about(const std::string& subject, const JobSpec& spec, const WorkFacts& facts,
                  std::string_view launcher = "condor") {
  const auto lines = advise(spec, *make_launcher(launcher).value(), facts);
  for (const Advice& line : lines.value()) {
    if (line.about == subject) {
      return line.text;
    }
  }
  return "";
}

// The workshop's cases (001-0): many small tasks are ideal, and stay where their data must; a model
// that needs several machines and 2 TB of data is a poor fit.
TEST(Advice, eighteen_million_documents_fit_and_stay_on_campus) {
  JobSpec spec{.name = "x", .command = {"/bin/read"}, .folder = "/tmp", .wants = {}};
  spec.tasks = 18'000'000;
  spec.wants.data_may_leave = false;
  const std::string fit = about("fit", spec, {});
  EXPECT_THAT(fit, HasSubstr("good for this site's own pool"));
  EXPECT_THAT(fit, HasSubstr("18000000 tasks"));
}

TEST(Advice, several_machines_and_two_terabytes_are_a_poor_fit) {
  JobSpec spec = training();
  spec.wants.nodes = 4;
  spec.wants.memory = {128'000'000'000};
  const std::string fit = about("fit", spec, {.input_bytes = 2'000'000'000'000});
  EXPECT_THAT(fit, HasSubstr("poor"));
  EXPECT_THAT(fit, HasSubstr("4 machines"));
  EXPECT_THAT(fit, HasSubstr("1.8 TiB"));
}

TEST(Advice, days_on_a_gpu_fit_when_they_can_go_on) {
  const WorkFacts facts{.estimate = Estimate{.task_s = 60 * kHour_s, .is_gpu = true, .from = "x"}};
  EXPECT_THAT(about("fit", training(), facts), HasSubstr("OSPool"));
  JobSpec other = training();
  other.is_kedge = false;
  EXPECT_THAT(about("fit", other, facts), HasSubstr("cannot go on after an eviction"));
}

// CHTC: short is 12 h and two thirds of the GPUs, long 7 days and 4 GPUs.
TEST(Advice, the_class_of_a_gpu_job_follows_the_estimate) {
  const auto queue = [](double hours) {
    return about("queue", training(),
                 {.estimate = Estimate{.task_s = hours * kHour_s, .is_gpu = true, .from = "x"}});
  };
  EXPECT_THAT(queue(3), HasSubstr("class short (up to 12h00m): 67%"));
  EXPECT_THAT(queue(18), HasSubstr("class medium"));
  EXPECT_THAT(queue(48), HasSubstr("class long (up to 7d00h): 4 GPUs"));
  EXPECT_THAT(queue(200), HasSubstr("longer than any class"));
}

// 12 tasks of 2 h, 4 at a time: 3 rounds, 6 h.
TEST(Advice, a_set_of_jobs_takes_as_many_rounds_as_the_limit_of_a_user_makes) {
  JobSpec spec = training();
  spec.tasks = 12;
  const WorkFacts facts{
      .estimate = Estimate{.task_s = 2 * kHour_s, .is_gpu = true, .from = "run x"},
      .site = Site{.machines = {machine(8, "A40"), machine(8, "A40")}, .tasks_per_user = 4}};
  EXPECT_THAT(about("time", spec, facts), HasSubstr("4 at a time (the limit of one user)"));
  EXPECT_THAT(about("time", spec, facts), HasSubstr("done in about 6h00m"));
}

TEST(Advice, gpus_of_the_site_are_held_against_the_need) {
  JobSpec spec = training();
  spec.wants.gpu_memory = {48'000'000'000};
  const WorkFacts facts{
      .site = Site{.machines = {machine(2, "A40"), machine(4, "GeForce GTX 1080 Ti")}}};
  const std::string gpus = about("gpus", spec, facts);
  EXPECT_THAT(gpus, HasSubstr("here: 2 NVIDIA A40"));
  EXPECT_THAT(gpus, HasSubstr("not these: 4 NVIDIA GeForce GTX 1080 Ti"));
}

// The workshop's tensorflow example: 8979 against 952 operations.
TEST(Advice, a_gpu_is_compared_with_cores) {
  const MeasuredSpeed gpu{.is_gpu = true, .device = "P100", .samples_per_s = 8979};
  EXPECT_THAT(
      about("speed", training(), {.speeds = {gpu, {.device = "CPU", .samples_per_s = 952}}}),
      HasSubstr("9.4 times; a GPU is worth its queue"));
  EXPECT_THAT(
      about("speed", training(), {.speeds = {gpu, {.device = "CPU", .samples_per_s = 5000}}}),
      HasSubstr("job.gpus=0"));
}

TEST(Advice, a_limit_below_the_estimate_is_said_before) {
  JobSpec spec = training();
  spec.wants.time = {kHour_s};
  spec.estimate_s = 2.5 * kHour_s;
  EXPECT_EQ(
      find_time_trouble(spec).value_or(""),
      "job.time is 1h00m, and a task takes about 2h30m: it saves at the limit and goes on, in "
      "about 3 starts");
  spec.is_kedge = false;
  EXPECT_THAT(find_time_trouble(spec).value_or(""), HasSubstr("ended before it is done; "
                                                              "job.time=225m"));
  spec.estimate_s = 0.5 * kHour_s;
  EXPECT_FALSE(find_time_trouble(spec));
}

// A machine of the site's own GPU names: Slurm says "gpu:a100:4".
TEST(Advice, a_name_that_several_models_share_says_nothing_about_memory) {
  const SiteMachine a100 = machine(4, "a100");
  EXPECT_EQ(a100.gpu_capability, (Capability{8, 0}));
  EXPECT_EQ(a100.gpu_memory_mb, 0) << "there are some of 40 and some of 80 GB";
}

}  // namespace
}  // namespace kedge::jobs
