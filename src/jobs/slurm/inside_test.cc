#include "jobs/slurm/inside.h"

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/inside_job.h"
#include "ranks/rank_place.h"

namespace kedge::jobs::slurm {
namespace {

using ranks::find_node_place;
using ranks::find_rank_place;
using ranks::port_of_job;

FindVariable in(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(InsideSlurm, a_step_of_slurm_has_a_rank_for_each_task) {
  const std::map<std::string, std::string> step = {{"SLURM_JOB_ID", "4711"},
                                                   {"SLURM_STEP_ID", "0"},
                                                   {"SLURM_STEP_NUM_TASKS", "8"},
                                                   {"SLURM_STEP_NUM_NODES", "2"},
                                                   {"SLURM_STEP_NODELIST", "gpu[03-04]"},
                                                   {"SLURM_PROCID", "6"},
                                                   {"SLURM_LOCALID", "2"}};
  const auto place = find_rank_place(in(step));
  ASSERT_TRUE(place && *place);
  EXPECT_EQ((*place)->rank, 6);
  EXPECT_EQ((*place)->size, 8);
  EXPECT_EQ((*place)->local_rank, 2);
  EXPECT_EQ((*place)->local_size, 4);
  EXPECT_EQ((*place)->host, "gpu03");
  EXPECT_EQ((*place)->port, port_of_job(4711, 0));
  // In the batch script itself the tasks are not started yet.
  auto batch = step;
  batch["SLURM_STEP_ID"] = "batch";
  const auto alone = find_rank_place(in(batch));
  ASSERT_TRUE(alone);
  EXPECT_FALSE(alone->has_value());
}

TEST(InsideSlurm, one_task_a_machine_makes_a_supervisor_on_each) {
  const auto place = find_node_place(in({{"SLURM_JOB_ID", "12"},
                                         {"SLURM_STEP_ID", "1"},
                                         {"SLURM_STEP_NUM_TASKS", "2"},
                                         {"SLURM_STEP_NUM_NODES", "2"},
                                         {"SLURM_STEP_NODELIST", "a,b"},
                                         {"SLURM_NODEID", "1"}}),
                                     "");
  ASSERT_TRUE(place && *place);
  EXPECT_EQ((*place)->node, 1);
  EXPECT_EQ((*place)->nodes, 2);
  EXPECT_EQ((*place)->host, "a");
}

TEST(InsideSlurm, a_job_started_again_says_so) {
  const auto name = find_job_name(in({{"SLURM_JOB_ID", "77"}, {"SLURM_RESTART_COUNT", "2"}}));
  ASSERT_TRUE(name);
  EXPECT_EQ(name->text, "slurm 77");
  EXPECT_EQ(name->starts, 2);
  EXPECT_FALSE(find_job_name(in({})));
}

TEST(InsideSlurm, a_run_records_its_job_and_no_key) {
  const auto facts = describe_job(in({{"SLURM_JOB_ID", "4711"}, {"WANDB_API_KEY", "do-not-keep"}}));
  EXPECT_EQ(facts, (std::map<std::string, std::string>{{"SLURM_JOB_ID", "4711"}}));
}

// HTCondor's pilots run in Slurm's jobs: the inner scheduler is the one that starts us again.
TEST(InsideSlurm, a_job_of_htcondor_in_a_slurm_job_is_htcondors) {
  const std::string ad = std::string(KEDGE_FIXTURES) + "/jobs/condor_second_run.ad";
  const auto name = find_job_name(in({{"SLURM_JOB_ID", "77"}, {"_CONDOR_JOB_AD", ad}}));
  ASSERT_TRUE(name);
  EXPECT_TRUE(name->text.starts_with("condor ")) << name->text;
}

}  // namespace
}  // namespace kedge::jobs::slurm
