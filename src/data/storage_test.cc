#include "data/storage.h"

#include <string>

#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::data {
namespace {

TEST(Storage, every_file_of_a_set_is_read_once) {
  const ScratchFolder folder;
  ASSERT_TRUE(make_dirs(folder / "cats"));
  for (int i = 0; i < 10; ++i) {
    const std::string content(static_cast<std::size_t>(1000 * (i + 1)), 'x');
    ASSERT_TRUE(write_file_atomic(folder / "cats" / std::to_string(i), content));
  }
  config::DataConfig config;
  config.path = folder.path().string();
  for (const std::int64_t threads : {1, 3}) {
    const auto speed = measure_storage(config, threads, 60);
    ASSERT_TRUE(speed);
    EXPECT_EQ(speed->files, 10);
    EXPECT_EQ(speed->bytes, 55'000U);
    EXPECT_GT(speed->seconds, 0);
    EXPECT_GE(speed->cached_fraction, 0);
    EXPECT_LE(speed->cached_fraction, 1);
    EXPECT_EQ(speed->place, folder.path());
  }
}

TEST(Storage, several_sets_are_read_together) {
  const ScratchFolder folder;
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(make_dirs(folder / name));
    ASSERT_TRUE(write_file_atomic(folder / name / "file", "12345"));
  }
  config::DataConfig config;
  config.root = folder.path().string();
  config.mix = {{"a", 1.0}, {(folder / "b").string(), 2.0}};
  const auto speed = measure_storage(config, 1, 60);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->bytes, 10U);
}

TEST(Storage, a_set_without_files_has_no_speed) {
  config::DataConfig config;
  config.root = "/nonexistent";
  config.name = "synthetic";
  EXPECT_FALSE(measure_storage(config, 1, 1));
}

}  // namespace
}  // namespace kedge::data
