#include "jobs/condor/machine_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::jobs::condor {
namespace {

using testing::SizeIs;

// What condor_status 23.9 printed for a pool of three machines, one of them without GPUs.
TEST(CondorMachines, are_read_with_their_gpus) {
  const auto machines = parse_machines(
      "slot1@n1@localhost\t8\t16000\t2\tNVIDIA GeForce GTX 1080 Ti\t6.1\t11178\n"
      "slot1@n2@localhost\t8\t16000\t2\tNVIDIA A40\t8.6\t45634\n"
      "slot1@n3@localhost\t4\t8000\tundefined\tundefined\tundefined\tundefined\n");
  ASSERT_THAT(machines, SizeIs(3));
  EXPECT_EQ(machines[1].gpu_name, "NVIDIA A40");
  EXPECT_EQ(machines[1].gpu_capability, (Capability{8, 6}));
  EXPECT_EQ(machines[1].gpu_memory_mb, 45634);
  EXPECT_EQ(machines[2].gpus, 0);
  EXPECT_EQ(machines[2].cpus, 4);
}

}  // namespace
}  // namespace kedge::jobs::condor
