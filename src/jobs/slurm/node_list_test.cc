#include "jobs/slurm/node_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs::slurm {
namespace {

using testing::SizeIs;

// `sinfo -h -N -o "%N|%c|%m|%G"`: a node of two partitions has two lines.
TEST(SlurmNodes, nodes_are_counted_once_with_their_gpus) {
  const auto nodes = parse_nodes(
      "n1|4|4000|gpu:2\nn1|4|4000|gpu:2\n"
      "n2|64|1024000|gpu:nvidia_a40:4(S:0-1),shard:8\nn3|128|500000|(null)\n");
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[0].gpus, 2);
  EXPECT_EQ(nodes[1].gpus, 4);
  EXPECT_EQ(nodes[1].gpu_name, "nvidia_a40");
  EXPECT_EQ(nodes[2].gpus, 0);
  EXPECT_EQ(nodes[2].cpus, 128);
}

}  // namespace
}  // namespace kedge::jobs::slurm
