// A run's checkpoints under every fault we can cause: flipped bytes, full disks, no inodes, a
// read-only disk, kill -9. The claim is always the same: the newest one that verifies is whole,
// and no fault takes the last good one away.
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "checkpoint/saver.h"
#include "checkpoint/storage.h"
#include "checkpoint/tensor_file.h"
#include "core/file.h"
#include "core/flip_byte.h"
#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"

namespace kedge::checkpoint {
namespace {

using testing::HasSubstr;

Save make_save(std::int64_t step, std::size_t bytes) {
  auto memory = std::make_shared<std::vector<std::uint8_t>>(bytes, static_cast<std::uint8_t>(step));
  const auto count = static_cast<std::int64_t>(bytes);
  return {.name = "step-" + std::to_string(step),
          .parts = {{"model", {{"weight", DType::U8, {count}, *memory}}},
                    {"optimizer", {{"weight.m", DType::U8, {count}, *memory}}}},
          .state = {{"step", step}, {"epoch", 1}, {"score", nullptr}},
          .memory = memory};
}

Result<void> write(const Path& folder, std::int64_t step, std::size_t bytes) {
  const Save save = make_save(step, bytes);
  return write_checkpoint(folder / save.name, save.parts, save.state);
}

// The step of the newest whole checkpoint, checked to hold that step's bytes; -1: none.
std::int64_t newest_step(const Path& folder) {
  const auto newest = open_newest({.durable = folder});
  if (!newest || !newest->checkpoint) {
    return -1;
  }
  for (const char* part : {"model", "optimizer"}) {
    for (const std::uint8_t byte : newest->checkpoint->part(part).tensors()[0].bytes) {
      if (byte != static_cast<std::uint8_t>(newest->entry.step)) {
        return -1;
      }
    }
  }
  return newest->entry.step;
}

TEST(FaultTest, resume_falls_back_from_a_flip_of_any_byte) {
  const ScratchFolder folder;
  ASSERT_TRUE(write(folder.path(), 1, 64));
  ASSERT_TRUE(write(folder.path(), 2, 64));
  const Path newest = folder / "step-2";
  int flips = 0;
  for (const char* name : {"manifest.json", "model.safetensors", "optimizer.safetensors"}) {
    const std::uint64_t size = std::filesystem::file_size(newest / name);
    for (std::size_t at = 0; at < size; ++at, ++flips) {
      flip_byte(newest / name, at);
      ASSERT_EQ(newest_step(folder.path()), 1) << name << " at " << at;
      std::filesystem::rename(folder / "step-2.bad", newest);
      flip_byte(newest / name, at);
    }
  }
  EXPECT_GE(flips, 500);
  EXPECT_EQ(newest_step(folder.path()), 2);
}

TEST(FaultTest, resume_falls_back_from_cut_empty_and_missing_files) {
  for (const char* name : {"manifest.json", "model.safetensors", "optimizer.safetensors"}) {
    for (const int cut : {1, 40, 100'000, -1}) {
      const ScratchFolder folder;
      ASSERT_TRUE(write(folder.path(), 1, 64));
      ASSERT_TRUE(write(folder.path(), 2, 64));
      const Path file = folder / "step-2" / name;
      const auto size = static_cast<int>(std::filesystem::file_size(file));
      if (cut < 0) {
        std::filesystem::remove(file);
      } else {
        std::filesystem::resize_file(file, static_cast<std::uintmax_t>(std::max(size - cut, 0)));
      }
      EXPECT_EQ(newest_step(folder.path()), 1) << name << " " << cut;
      EXPECT_TRUE(std::filesystem::exists(folder / "step-2.bad"));
    }
  }
}

// From one page to enough: the disk is full at every write in turn.
TEST(FaultTest, a_full_disk_at_any_write_leaves_the_old_checkpoint) {
  constexpr std::size_t kBytes = 20'000;
  int failed = 0;
  int done = 0;
  for (std::size_t kib = 8; kib <= 160; kib += 4) {
    const SmallDisk disk(kib);
    if (!disk.is_mounted()) {
      GTEST_SKIP() << "mounting a tmpfs needs root";
    }
    const auto first = write(disk.path(), 1, 1000);
    const auto second = write(disk.path(), 2, kBytes);
    if (!second) {
      EXPECT_EQ(second.error().kind, ErrorKind::Io);
      EXPECT_THAT(second.error().message, HasSubstr("No space left"));
      EXPECT_NE(second.error().hint, "");
    }
    EXPECT_EQ(newest_step(disk.path()), second ? 2 : first ? 1 : -1) << kib;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(disk.path()), {}),
              static_cast<int>(first.has_value()) + static_cast<int>(second.has_value()));
    ++(second ? done : failed);
  }
  EXPECT_GE(failed, 5);
  EXPECT_GE(done, 5);
}

TEST(FaultTest, the_saver_refuses_before_the_disk_is_full) {
  const SmallDisk disk(512);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  Saver saver({.folders = {.durable = disk.path()}, .retention = {}});
  for (const auto& [step, bytes] : {std::pair(1, 10'000), std::pair(2, 250'000)}) {
    saver.start(make_save(step, static_cast<std::size_t>(bytes)));
    saver.wait();
  }
  const auto reports = saver.take_reports();
  ASSERT_TRUE(reports[0].result) << reports[0].result.error().message;
  ASSERT_FALSE(reports[1].result);
  EXPECT_THAT(reports[1].result.error().message, HasSubstr("no room for a checkpoint"));
  EXPECT_EQ(newest_step(disk.path()), 1);
}

TEST(FaultTest, a_file_system_without_inodes_is_told_from_a_full_one) {
  const SmallDisk disk(4096);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  ASSERT_TRUE(check_room(disk.path(), 1000));
  ASSERT_EQ(::mount("kedge-test", disk.path().c_str(), "tmpfs", MS_REMOUNT, "nr_inodes=10"), 0);
  const auto room = check_room(disk.path() / "not/yet/there", 1000);
  ASSERT_FALSE(room);
  EXPECT_THAT(room.error().message, HasSubstr("of 10 inodes are free"));
  ASSERT_TRUE(write(disk.path(), 1, 100));
  EXPECT_TRUE(write(disk.path(), 2, 100));
  EXPECT_FALSE(write(disk.path(), 3, 100));
  EXPECT_EQ(newest_step(disk.path()), 2);
}

TEST(FaultTest, a_read_only_disk_is_an_error_and_can_still_be_resumed_from) {
  const SmallDisk disk(4096);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  ASSERT_TRUE(write(disk.path(), 1, 100));
  ASSERT_TRUE(write(disk.path(), 2, 100));
  flip_byte(disk.path() / "step-2/model.safetensors", 150);
  ASSERT_EQ(::mount("kedge-test", disk.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr),
            0);
  Saver saver({.folders = {.durable = disk.path()}, .retention = {}});
  saver.start(make_save(3, 100));
  saver.wait();
  const auto reports = saver.take_reports();
  ASSERT_FALSE(reports[0].result);
  EXPECT_THAT(reports[0].result.error().message, HasSubstr("Read-only file system"));
  const auto newest = open_newest({.durable = disk.path()});
  ASSERT_TRUE(newest && newest->checkpoint);
  EXPECT_EQ(newest->entry.step, 1);
  EXPECT_THAT(newest->bad[0].error.message, HasSubstr("could not be set aside"));
}

[[noreturn]] void save_for_ever(const Folders& folders, std::int64_t step, int progress_fd) {
  {
    Saver saver({.folders = folders, .retention = {.keep_last = 2, .keep_best = 0}});
    for (;; ++step) {
      while (saver.is_busy()) {
        ::sched_yield();
      }
      for (const SaveReport& report : saver.take_reports()) {
        if (report.result && ::write(progress_fd, "x", 1) != 1) {
          ::_exit(1);
        }
      }
      saver.start(make_save(step, 100'000));
    }
  }
}

// Lets a child save without end and kills it after a random number of saves and microseconds.
void kill_a_saver(const Folders& folders, std::int64_t first_step, std::mt19937& random) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(ends[0]);
    save_for_ever(folders, first_step, ends[1]);
  }
  const OwnedFd read_end(ends[0]);
  ::close(ends[1]);
  char byte = 0;
  for (unsigned count = random() % 4; count > 0; --count) {
    ASSERT_EQ(::read(read_end.get(), &byte, 1), 1);
  }
  const timespec moment{.tv_sec = 0, .tv_nsec = static_cast<long>(random() % 4'000'000)};
  ::nanosleep(&moment, nullptr);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

void expect_kills_lose_nothing(const Folders& folders) {
  std::mt19937 random(7);
  std::int64_t last = 0;
  for (int round = 0; round < 25; ++round) {
    kill_a_saver(folders, last + 1, random);
    const auto newest = open_newest(folders);
    ASSERT_TRUE(newest) << newest.error().message;
    EXPECT_TRUE(newest->bad.empty()) << newest->bad[0].error.message;
    const std::int64_t step = newest->checkpoint ? newest->entry.step : 0;
    EXPECT_GE(step, last);
    last = step;
  }
  EXPECT_GT(last, 10);
}

TEST(FaultTest, kill_9_at_any_moment_loses_no_committed_checkpoint) {
  const ScratchFolder folder;
  expect_kills_lose_nothing({.durable = folder / "durable"});
}

TEST(FaultTest, kill_9_at_any_moment_is_harmless_with_a_fast_folder) {
  const ScratchFolder folder;
  expect_kills_lose_nothing({.durable = folder / "durable", .fast = folder / "fast"});
}

}  // namespace
}  // namespace kedge::checkpoint
