#include "monitor/host_sampler.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/file.h"
#include "core/scratch_folder.h"

namespace kedge::monitor {
namespace {

class HostSamplerTest : public testing::Test {
 protected:
  void write(const Path& name, std::string_view text) {
    ASSERT_TRUE(make_dirs((folder_ / name).parent_path()));
    ASSERT_TRUE(write_file_atomic(folder_ / name, text));
  }

  HostSampler sampler() { return HostSampler(folder_ / "proc", folder_ / "cgroup"); }

  ScratchFolder folder_;
};

TEST_F(HostSamplerTest, numbers_are_what_the_kernel_wrote) {
  write("proc/stat", "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  write("proc/self/stat", "7 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 300 100 0 0 20 0 1 0 55 0 0\n");
  write("proc/self/io", "rchar: 9\nwchar: 9\nread_bytes: 1000\nwrite_bytes: 4096\n");
  write("proc/self/status", "Name:\tx\nVmRSS:\t    2048 kB\n");
  write("proc/meminfo",
        "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n");
  write("proc/loadavg", "1.25 0.50 0.25 2/300 4711\n");
  write("proc/net/dev",
        "Inter-|   Receive\n face |bytes\n"
        "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
        "  eth0: 5000 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n"
        "  ib0:1000 1 0 0 0 0 0 0 300 1 0 0 0 0 0 0\n");
  HostSampler sampler = this->sampler();
  const HostSample first = sampler.sample_at(100);
  EXPECT_EQ(first.memory_total, 1'024'000U);
  EXPECT_EQ(first.memory_used, 614'400U);
  EXPECT_EQ(first.process_memory, 2'097'152U);
  EXPECT_EQ(first.load, 1.25);
  EXPECT_FALSE(first.cpu_percent);
  EXPECT_FALSE(first.disk_read_per_s);
  EXPECT_FALSE(first.limit);

  // 150 of 200 more ticks busy; the process had 50 ticks, half a second of 10 at 100 a second.
  write("proc/stat", "cpu  200 0 100 840 50 5 5 0 0 0\n");
  const auto ticks = ::sysconf(_SC_CLK_TCK) / 2;
  write("proc/self/stat", "7 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(300 + ticks) +
                              " 100 0 0 20 0 1 0 55 0 0\n");
  write("proc/self/io", "read_bytes: 21000\nwrite_bytes: 4096\n");
  write("proc/net/dev",
        "  eth0: 6000 1 0 0 0 0 0 0 800 1 0 0 0 0 0 0\n"
        "  ib0:1000 1 0 0 0 0 0 0 300 1 0 0 0 0 0 0\n");
  const HostSample second = sampler.sample_at(110);
  EXPECT_EQ(second.cpu_percent, 75);
  EXPECT_NEAR(second.process_cpu_percent.value(), 5, 1e-9);
  EXPECT_EQ(second.disk_read_per_s, 2000);
  EXPECT_EQ(second.disk_write_per_s, 0);
  EXPECT_EQ(second.network_in_per_s, 100);
  EXPECT_EQ(second.network_out_per_s, 10);
}

TEST_F(HostSamplerTest, the_tightest_limit_of_control_groups_of_version_2_counts) {
  write("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  write("cgroup/slurm/job_7/step_0/memory.max", "max\n");
  write("cgroup/slurm/job_7/step_0/memory.current", "500\n");
  write("cgroup/slurm/job_7/memory.max", "4000\n");
  write("cgroup/slurm/job_7/memory.current", "600\n");
  write("cgroup/slurm/memory.max", "9000\n");
  write("cgroup/slurm/memory.current", "700\n");
  const HostSample sample = sampler().sample_at(0);
  EXPECT_EQ(sample.limit, 4000U);
  EXPECT_EQ(sample.limit_used, 600U);
}

TEST_F(HostSamplerTest, limits_of_version_1_are_found_and_its_word_for_none_is_known) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/\n");
  write("cgroup/memory/docker/x/memory.limit_in_bytes", "2048\n");
  write("cgroup/memory/docker/x/memory.usage_in_bytes", "1024\n");
  write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroup/memory/memory.usage_in_bytes", "5\n");
  EXPECT_EQ(sampler().sample_at(0).limit, 2048U);
  write("cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(sampler().sample_at(0).limit);
}

TEST_F(HostSamplerTest, files_that_are_missing_or_strange_leave_gaps) {
  HostSampler nothing = sampler();
  EXPECT_FALSE(nothing.sample_at(0).memory_total);
  EXPECT_FALSE(nothing.sample_at(1).cpu_percent);
  write("proc/stat", "cpu 1 2\n");
  write("proc/self/stat", "7 (x");
  write("proc/self/io", "read_bytes:\n");
  write("proc/meminfo", "MemTotal: many kB\n");
  write("proc/net/dev", "eth0: 1 2\n:\n");
  write("proc/self/cgroup", "0::\nx\n::\n");
  HostSampler strange = sampler();
  strange.sample_at(0);
  const HostSample sample = strange.sample_at(1);
  EXPECT_FALSE(sample.cpu_percent);
  EXPECT_FALSE(sample.process_cpu_percent);
  EXPECT_FALSE(sample.disk_read_per_s);
  EXPECT_FALSE(sample.network_in_per_s);
  EXPECT_FALSE(sample.memory_total);
}

TEST_F(HostSamplerTest, counters_that_go_backwards_give_no_rate) {
  write("proc/self/io", "read_bytes: 10\nwrite_bytes: 0\n");
  HostSampler sampler = this->sampler();
  sampler.sample_at(0);
  write("proc/self/io", "read_bytes: 5\nwrite_bytes: 5\n");
  const HostSample sample = sampler.sample_at(1);
  EXPECT_FALSE(sample.disk_read_per_s);
  EXPECT_EQ(sample.disk_write_per_s, 5);
}

TEST_F(HostSamplerTest, this_machine_says_what_its_proc_files_say) {
  HostSampler sampler;
  const HostSample first = sampler.sample();
  // Work until the kernel has counted it: a tick is 10 ms.
  const auto begin = std::chrono::steady_clock::now();
  volatile std::uint64_t sum = 0;
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(100)) {
    sum = sum + 1;
  }
  const HostSample second = sampler.sample();
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  std::uint64_t total = 0;
  meminfo >> word >> total;
  EXPECT_EQ(first.memory_total, total * 1024);
  EXPECT_LT(first.memory_used, first.memory_total);
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const double expected = static_cast<double>(resident) * static_cast<double>(::getpagesize());
  EXPECT_NEAR(static_cast<double>(second.process_memory.value()), expected, 16e6);
  EXPECT_GT(second.cpu_percent.value(), 0);
  EXPECT_LE(second.cpu_percent.value(), 100);
  EXPECT_GT(second.process_cpu_percent.value(), 0);
}

}  // namespace
}  // namespace kedge::monitor
