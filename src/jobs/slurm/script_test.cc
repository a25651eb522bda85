#include "jobs/slurm/script.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"

namespace kedge::jobs::slurm {
namespace {

SubmissionPlace place() {
  return {.key = "k7f3q2",
          .submission = 1,
          .folder = "/home/ada/img/jobs/k7f3q2",
          .kedge = "/opt/kedge/bin/kedge",
          .ids = {}};
}

// Golden files were read by a person and taken by sbatch; KEDGE_WRITE_GOLDEN=1 writes them anew.
void expect_golden(const std::string& script, const std::string& name) {
  const Path path = Path(KEDGE_FIXTURES) / "jobs" / name;
  if (std::getenv("KEDGE_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, script));
  }
  EXPECT_EQ(script, read_file(path).value_or("")) << name;
}

// The directives of workshop 000's exercises (workshops.md 2.C).
JobSpec exercise() {
  JobSpec spec{.name = "img",
               .command = {"/opt/kedge/bin/kedge", "train", "{dir}/config.yaml"},
               .folder = "/home/ada/img",
               .wants = {}};
  spec.is_kedge = true;
  spec.wants.gpus = 1;
  spec.wants.cpus = 16;
  spec.wants.memory = {128'000'000'000};
  spec.wants.time = {3600};
  spec.wants.queue = "gpu_requeue";
  spec.wants.account = "lab";
  spec.wants.reservation = "mlopt_workshop";
  spec.wants.modules = {"python/3.12.8-fasrc01", "cuda/12.4.1-fasrc01"};
  spec.wants.conda = "/n/envs/pytorch vision";
  spec.wants.output = "img-%N.%x.%j.out";
  return spec;
}

TEST(SlurmScript, one_gpu_as_in_the_exercises) {
  expect_golden(render_script(exercise(), place()).value(), "slurm_exercise.sbatch");
}

TEST(SlurmScript, a_sweep_is_an_array_with_a_cap) {
  JobSpec spec = exercise();
  spec.name = "sweep";
  spec.command = {"/opt/kedge/bin/kedge", "agent", "/home/ada/img/sweeps/abc", "--count", "1"};
  spec.tasks = 12;
  spec.wants.at_once = 4;
  spec.wants.output = "";
  spec.wants.retries = 2;
  spec.after = {{"q1w2e3", After::Ok}};
  SubmissionPlace where = place();
  where.ids = {{"q1w2e3", "41"}};
  expect_golden(render_script(spec, where).value(), "slurm_sweep.sbatch");
}

// Workshop 004's launcher: several nodes, pyxis, a program that is not ours.
TEST(SlurmScript, four_nodes_in_a_pyxis_container) {
  JobSpec spec{.name = "llama",
               .command = {"/usr/bin/python3", "train.py", "--resume", "true"},
               .folder = "/scratch/ada/llama",
               .wants = {}};
  spec.wants.nodes = 4;
  spec.wants.ranks = 8;
  spec.wants.gpus = 8;
  spec.wants.cpus = 28;
  spec.wants.memory = {0};
  spec.wants.time = {4 * 3600};
  spec.wants.queue = "normal";
  spec.wants.account = "proj";
  spec.wants.container = "/scratch/ada/torch.sqsh";
  spec.wants.mounts = {"/scratch/ada/data:/data"};
  spec.wants.grace = {300};
  spec.wants.resumable = true;
  spec.wants.continuation = config::Continuation::Chain;
  spec.wants.env = {{"NCCL_DEBUG", "WARN"}};
  spec.wants.directives = {"--exclusive"};
  expect_golden(render_script(spec, place()).value(), "slurm_pyxis.sbatch");
}

TEST(SlurmScript, a_retry_names_its_tasks) {
  JobSpec spec = exercise();
  spec.tasks = 12;
  SubmissionPlace where = place();
  where.submission = 2;
  where.tasks = {3, 4, 5, 9};
  const std::string script = render_script(spec, where).value();
  EXPECT_NE(script.find("#SBATCH --array=3-5,9\n"), std::string::npos);
  EXPECT_NE(script.find("#SBATCH --comment=kedge:k7f3q2/2\n"), std::string::npos);
}

TEST(SlurmScript, times_are_whole_minutes) {
  EXPECT_EQ(render_time(3600), "0-01:00:00");
  EXPECT_EQ(render_time(90), "0-00:02:00");
  EXPECT_EQ(render_time(86400 + 60), "1-00:01:00");
}

TEST(SlurmScript, a_job_without_gpus_says_nothing_of_them) {
  JobSpec spec = exercise();
  spec.wants.gpus = 0;
  EXPECT_EQ(render_script(spec, place()).value().find("gpus"), std::string::npos);
}

}  // namespace
}  // namespace kedge::jobs::slurm
