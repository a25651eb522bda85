#include "monitor/gpu_sampler.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/process.h"

namespace kedge::monitor {
namespace {

TEST(GpuSampler, without_the_library_there_are_no_gpus) {
  const GpuSampler sampler("libnone-such.so.1");
  EXPECT_EQ(sampler.count(), 0);
  EXPECT_TRUE(sampler.sample().empty());
}

TEST(GpuSampler, a_library_without_the_functions_has_no_gpus) {
  GpuSampler sampler("libm.so.6");
  EXPECT_EQ(sampler.count(), 0);
  const GpuSampler moved = std::move(sampler);
  EXPECT_TRUE(moved.sample().empty());
}

TEST(GpuSampler, says_what_nvidia_smi_says) {
  const auto smi = run_process(
      {.args = {"nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"}});
  if (!smi || !smi->is_ok()) {
    EXPECT_EQ(GpuSampler().count(), 0);
    GTEST_SKIP() << "no GPU here";
  }
  const GpuSampler sampler;
  std::string said;
  for (const GpuSample& gpu : sampler.sample()) {
    said += gpu.name + ", " + std::to_string(gpu.memory_total.value() >> 20U) + "\n";
    EXPECT_LE(gpu.utilization_percent.value(), 100);
    EXPECT_LE(gpu.memory_used.value(), gpu.memory_total.value());
    EXPECT_GT(gpu.power_w.value(), 5);
    EXPECT_LT(gpu.power_w.value(), 2000);
    EXPECT_GT(gpu.temperature_c.value(), 5);
    EXPECT_LT(gpu.temperature_c.value(), 110);
    EXPECT_GT(gpu.sm_clock_mhz.value(), 50);
    EXPECT_TRUE(gpu.pcie_in_per_s.has_value());
    EXPECT_TRUE(gpu.pcie_out_per_s.has_value());
  }
  EXPECT_EQ(said, smi->output);
}

}  // namespace
}  // namespace kedge::monitor
