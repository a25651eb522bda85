#include "ranks/rank_place.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::ranks {
namespace {

using testing::HasSubstr;

FindVariable in(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(RankPlace, a_process_without_variables_is_alone) {
  const auto place = find_rank_place(in({{"HOME", "/home/a"}}));
  ASSERT_TRUE(place);
  EXPECT_FALSE(place->has_value());
}

TEST(RankPlace, reads_what_torchrun_sets) {
  const auto place = find_rank_place(in({{"RANK", "5"},
                                         {"WORLD_SIZE", "8"},
                                         {"LOCAL_RANK", "1"},
                                         {"LOCAL_WORLD_SIZE", "4"},
                                         {"MASTER_ADDR", "node1"},
                                         {"MASTER_PORT", "12355"}}));
  ASSERT_TRUE(place && *place);
  EXPECT_EQ((*place)->rank, 5);
  EXPECT_EQ((*place)->size, 8);
  EXPECT_EQ((*place)->local_rank, 1);
  EXPECT_EQ((*place)->local_size, 4);
  EXPECT_EQ((*place)->host, "node1");
  EXPECT_EQ((*place)->port, 12355);
}

TEST(RankPlace, a_step_of_slurm_has_a_rank_for_each_task) {
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

TEST(RankPlace, jobs_on_one_machine_get_ports_of_their_own) {
  EXPECT_NE(port_of_job(100, 0), port_of_job(101, 0));
  EXPECT_NE(port_of_job(100, 0), port_of_job(100, 1));
  EXPECT_GT(port_of_job(123'456'789, 3), 1024);
  EXPECT_LT(port_of_job(123'456'789, 3), 32768);
}

TEST(RankPlace, says_why_every_process_would_be_rank_0) {
  const auto place = find_rank_place(in({{"WORLD_SIZE", "4"}}));
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("RANK is not"));
  EXPECT_THAT(place.error().hint, HasSubstr("every process would take itself for rank 0"));
}

TEST(RankPlace, refuses_ranks_that_cannot_be) {
  EXPECT_FALSE(find_rank_place(in({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}})));
  EXPECT_FALSE(find_rank_place(in({{"RANK", "x"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}})));
  EXPECT_FALSE(find_rank_place(in({{"RANK", "1"}, {"WORLD_SIZE", "4"}})));
  EXPECT_FALSE(find_rank_place(
      in({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}})));
}

TEST(NodePlace, one_task_a_machine_makes_a_supervisor_on_each) {
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

TEST(NodePlace, the_endpoint_says_where_to_meet) {
  const auto place = find_node_place(in({}), "node7:29501");
  ASSERT_TRUE(place && *place);
  EXPECT_EQ((*place)->host, "node7");
  EXPECT_EQ((*place)->port, 29501);
  EXPECT_FALSE(find_node_place(in({}), "node7"));
  EXPECT_FALSE(find_node_place(in({}), "node7:0"));
}

}  // namespace
}  // namespace kedge::ranks
