#include "jobs/task_run.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/job_logs.h"
#include "jobs/secrets.h"

namespace kedge::jobs {
namespace {

TEST(TaskRun, words_are_filled_in_from_the_task) {
  const Variables variables = {
      {"KEDGE_TASK", "3"}, {"KEDGE_ITEM", "a {task}"}, {"KEDGE_JOB_DIR", "/j/k"}};
  EXPECT_EQ(fill_in({"x", "--seed={task}", "{dir}/c.yaml", "{item}", "{other}"}, variables),
            (std::vector<std::string>{"x", "--seed=3", "/j/k/c.yaml", "a {task}", "{other}"}));
}

// What srun -N2 --ntasks-per-node=2 of Slurm 22.05 sets for its last task.
TEST(TaskRun, ranks_have_torchruns_names) {
  const Variables slurm = {{"SLURM_JOB_ID", "12"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_STEP_NUM_TASKS", "4"},
                           {"SLURM_PROCID", "3"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_NODEID", "1"},
                           {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};
  const std::map<std::string, std::string> expected = {{"RANK", "3"},
                                                       {"WORLD_SIZE", "4"},
                                                       {"LOCAL_RANK", "1"},
                                                       {"LOCAL_WORLD_SIZE", "2"},
                                                       {"GROUP_RANK", "1"}};
  const auto variables = rank_variables(slurm);
  EXPECT_EQ((std::map<std::string, std::string>(variables.begin(), variables.end())), expected);
  Variables alone = slurm;
  alone["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_TRUE(rank_variables(alone).empty());
  Variables told = slurm;
  told["RANK"] = "0";
  EXPECT_TRUE(rank_variables(told).empty());
}

TEST(TaskRun, stamps_are_read_back_by_logs) {
  // date -u -d @1794736860 +%FT%T
  const std::string line = stamp_line(1794736860'042, "n1:3", "loss = 0.5");
  EXPECT_EQ(line, "2026-11-15T10:01:00.042Z n1:3 loss = 0.5");
  EXPECT_EQ(stamp_of(line), "2026-11-15T10:01:00.042Z");
  EXPECT_EQ(stamp_of("2026-11-15 loss"), "");
  EXPECT_EQ(stamp_of(""), "");
}

TEST(TaskRun, secrets_become_stars_and_switches_do_not) {
  const std::map<std::string, std::string> secrets = {{"A_TOKEN", "abcdefgh"}, {"B_TOKEN", "1"}};
  EXPECT_EQ(hide_secrets("1 abcdefgh, abcdefghabcdefgh", secrets), "1 ***, ******");
}

}  // namespace
}  // namespace kedge::jobs
