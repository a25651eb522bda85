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
