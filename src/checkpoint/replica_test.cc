#include "checkpoint/replica.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "checkpoint/checkpoint.h"
#include "core/file.h"

namespace kedge::checkpoint {
namespace {

class Replica : public testing::Test {
 protected:
  void SetUp() override {
    memory_ = std::filesystem::temp_directory_path() /
              ("kedge-replica-test-" + std::to_string(::getpid()));
    std::filesystem::remove_all(memory_);
    std::filesystem::create_directories(memory_);
    all_ = replicas_of_user(memory_);
    folder_ = replica_folder(all_, "run-1", "alpha");
  }

  void TearDown() override { std::filesystem::remove_all(memory_); }

  void write(const Path& folder, int step) const {
    const std::vector<Part> parts = {
        {.name = "model",
         .tensors = {{.name = "w", .type = DType::U8, .shape = {4}, .bytes = kBytes}}}};
    ASSERT_TRUE(write_checkpoint(folder / ("step-" + std::to_string(step)), parts,
                                 {{"step", step}, {"epoch", 0}}));
  }

  static constexpr std::array<std::uint8_t, 4> kBytes = {1, 2, 3, 4};
  Path memory_;
  Path all_;
  Path folder_;
};

TEST_F(Replica, the_newest_is_found_and_opened) {
  ASSERT_TRUE(make_replica_folder(all_, folder_));
  EXPECT_FALSE(find_replica(folder_));
  write(folder_, 3);
  write(folder_, 12);
  const auto found = find_replica(folder_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 12);
  const auto opened = open_replica(found->path);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->part("model").tensors().front().bytes.size(), 4U);
}

TEST_F(Replica, others_cannot_read_it) {
  ASSERT_TRUE(make_replica_folder(all_, folder_));
  struct stat info{};
  ASSERT_EQ(::stat(all_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077U, 0U);
}

TEST_F(Replica, a_name_that_is_no_folder_of_ours_is_refused) {
  std::filesystem::create_symlink("/tmp", all_);
  EXPECT_FALSE(make_replica_folder(all_, folder_));
}

TEST_F(Replica, what_a_dead_job_left_goes_after_a_day) {
  const Path old = replica_folder(all_, "run-0", "alpha");
  ASSERT_TRUE(make_replica_folder(all_, old));
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::hours(25);
  std::filesystem::last_write_time(old, before);
  std::filesystem::last_write_time(old.parent_path(), before);
  ASSERT_TRUE(make_replica_folder(all_, folder_));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(folder_));
}

TEST_F(Replica, one_from_another_machine_is_there_when_it_is_whole) {
  ASSERT_TRUE(make_replica_folder(all_, folder_));
  const Path other = replica_folder(all_, "run-1", "beta");
  write(other, 7);
  ReplicaImport import(folder_, "step-7");
  for (const char* file : {"model.safetensors", "manifest.json"}) {
    const auto map = MappedFile::open(other / "step-7" / file);
    ASSERT_TRUE(map);
    const auto half = map->bytes().size() / 2;
    ASSERT_TRUE(import.append(file, map->bytes().first(half)));
    ASSERT_TRUE(import.append(file, map->bytes().subspan(half)));
    EXPECT_FALSE(find_replica(folder_));
  }
  const auto path = import.commit();
  ASSERT_TRUE(path);
  EXPECT_TRUE(open_replica(*path));
  EXPECT_EQ(find_replica(folder_)->step, 7);
}

TEST_F(Replica, nothing_is_left_in_memory_at_the_end) {
  ASSERT_TRUE(make_replica_folder(all_, folder_));
  write(folder_, 1);
  remove_replicas(folder_);
  EXPECT_FALSE(std::filesystem::exists(all_));
}

}  // namespace
}  // namespace kedge::checkpoint
