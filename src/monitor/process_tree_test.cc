#include "monitor/process_tree.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/file.h"
#include "core/scratch_folder.h"
#include "monitor/host_sampler.h"

namespace kedge::monitor {
namespace {

class ProcessTreeTest : public testing::Test {
 protected:
  // /proc/PID/stat has 52 fields: the parent is the 4th, four times of CPU from the 14th on, the
  // pages the 24th.
  void add_process(int pid, std::string_view name, int parent, int ticks, int pages) {
    const Path folder = proc_.path() / std::to_string(pid);
    ASSERT_TRUE(make_dirs(folder));
    const std::string text = std::to_string(pid) + " (" + std::string(name) + ") S " +
                             std::to_string(parent) + " 5 6 7 8 9 10 11 12 13 " +
                             std::to_string(ticks) + " 1 10 100 18 19 20 21 22 23 " +
                             std::to_string(pages) + " 25 26\n";
    ASSERT_TRUE(write_file_atomic(folder / "stat", text));
    ASSERT_TRUE(write_file_atomic(folder / "io", "read_bytes: 100\nwrite_bytes: 7\n"));
  }

  ScratchFolder proc_;
};

TEST_F(ProcessTreeTest, a_tree_is_the_process_and_all_below_it) {
  add_process(1, "init", 0, 5000, 500);
  add_process(10, "sh", 1, 1000, 10);
  add_process(11, "python (a) b", 10, 2000, 20);
  add_process(12, "worker", 11, 3000, 30);
  add_process(13, "other", 1, 9000, 90);
  const auto tree = read_process_tree(proc_.path(), 10);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->process_count, 3);
  EXPECT_EQ(tree->ticks, 1000 + 2000 + 3000 + 3 * 111);
  EXPECT_EQ(tree->memory, 60U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(tree->disk_read, 300);
  EXPECT_EQ(tree->disk_write, 21);
}

TEST_F(ProcessTreeTest, a_process_that_ended_has_none) {
  add_process(1, "init", 0, 5000, 500);
  EXPECT_FALSE(read_process_tree(proc_.path(), 10));
}

TEST_F(ProcessTreeTest, the_real_proc_holds_this_process) {
  const auto tree = read_process_tree("/proc", ::getpid());
  ASSERT_TRUE(tree);
  EXPECT_GE(tree->process_count, 1);
  EXPECT_GT(tree->memory, 1'000'000U);
}

TEST_F(ProcessTreeTest, a_sampler_tells_of_the_tree) {
  add_process(10, "sh", 1, 1000, 10);
  HostSampler sampler(proc_.path(), "/nonexistent", 10);
  EXPECT_EQ(sampler.sample_at(0).process_memory,
            10U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  const auto ticks = static_cast<int>(::sysconf(_SC_CLK_TCK));
  add_process(10, "sh", 1, 1000 + ticks, 10);
  add_process(11, "worker", 10, ticks - 111, 10);
  EXPECT_EQ(sampler.sample_at(4).process_cpu_percent, 50);
}

}  // namespace
}  // namespace kedge::monitor
