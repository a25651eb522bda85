#include "dist/network.h"

#include <gtest/gtest.h>

namespace kedge::dist {
namespace {

Link ethernet(const char* address) {
  return {.name = "eth0", .address = address, .network = 0x0A000000, .prefix = 24, .speed = 1000};
}

Link infiniband(const char* address, std::int64_t speed = 200'000) {
  return {.name = "ib0", .address = address, .network = 0x0A010000, .prefix = 24, .speed = speed};
}

Link bridge() {
  return {.name = "docker0",
          .address = "172.17.0.1",
          .network = 0xAC110000,
          .prefix = 16,
          .speed = 400'000};
}

Link loopback() {
  return {.name = "lo", .address = "127.0.0.1", .network = 0x7F000000, .prefix = 8};
}

TEST(Network, takes_the_fastest_that_all_ranks_are_in) {
  const std::vector<RankLinks> ranks = {
      {"a", "10.0.0.1", {ethernet("10.0.0.1"), infiniband("10.1.0.1"), loopback()}},
      {"b", "10.0.0.2", {ethernet("10.0.0.2"), infiniband("10.1.0.2"), loopback()}}};
  EXPECT_EQ(choose_address(ranks, 0), "10.1.0.1");
  EXPECT_EQ(choose_address(ranks, 1), "10.1.0.2");
}

TEST(Network, leaves_out_what_one_rank_does_not_have) {
  const std::vector<RankLinks> ranks = {
      {"a", "10.0.0.1", {ethernet("10.0.0.1"), infiniband("10.1.0.1")}},
      {"b", "10.0.0.2", {ethernet("10.0.0.2")}}};
  EXPECT_EQ(choose_address(ranks, 0), "10.0.0.1");
}

TEST(Network, a_bridge_with_one_address_everywhere_leads_nowhere) {
  const std::vector<RankLinks> ranks = {{"a", "10.0.0.1", {ethernet("10.0.0.1"), bridge()}},
                                        {"b", "10.0.0.2", {ethernet("10.0.0.2"), bridge()}}};
  EXPECT_EQ(choose_address(ranks, 1), "10.0.0.2");
}

TEST(Network, of_links_of_unknown_speed_that_on_the_way_to_rank_0) {
  const std::vector<RankLinks> ranks = {
      {"a", "10.1.0.1", {ethernet("10.0.0.1"), infiniband("10.1.0.1", 1000)}},
      {"b", "10.1.0.2", {ethernet("10.0.0.2"), infiniband("10.1.0.2", 1000)}}};
  EXPECT_EQ(choose_address(ranks, 0), "10.1.0.1");
}

TEST(Network, ranks_of_one_machine_stay_on_it) {
  const std::vector<RankLinks> ranks = {{"a", "127.0.0.1", {ethernet("10.0.0.1"), loopback()}},
                                        {"a", "127.0.0.1", {ethernet("10.0.0.1"), loopback()}}};
  EXPECT_EQ(choose_address(ranks, 1), "127.0.0.1");
}

TEST(Network, this_machine_has_loopback_and_a_way_to_itself) {
  const std::vector<Link> links = list_links();
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links.back().address, "127.0.0.1");
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  const auto again = parse_rank_links(render({"a", "127.0.0.1", links}));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->links.back().prefix, 8);
}

}  // namespace
}  // namespace kedge::dist
