#include "core/file.h"

#include <filesystem>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/result.h"
#include "core/scratch_folder.h"
#include "core/small_disk.h"

namespace kedge {
namespace {

using testing::HasSubstr;

TEST(File, what_is_written_is_read) {
  const ScratchFolder folder;
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomic(folder / "x", content));
  EXPECT_EQ(*read_file(folder / "x"), content);
  ASSERT_TRUE(write_file_atomic(folder / "x", "second"));
  EXPECT_EQ(*read_file(folder / "x"), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(File, a_missing_file_is_not_found_and_named) {
  const auto missing = read_file("/nonexistent/kedge");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/kedge"));
}

TEST(File, writing_to_a_full_device_is_an_error_with_a_hint) {
  const OwnedFd full(::open("/dev/full", O_WRONLY));
  const auto written = write_all(full.get(), "x", "/dev/full");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("No space left on device"));
  EXPECT_THAT(written.error().hint, HasSubstr("free some space"));
}

TEST(File, a_device_or_pipe_is_never_replaced_by_a_file) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto written = write_file_atomic(folder / "pipe", "x");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("not a file"));
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(File, a_full_disk_leaves_the_old_content_and_no_litter) {
  const SmallDisk disk(16);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  ASSERT_TRUE(write_file_atomic(disk.path() / "x", "old"));
  EXPECT_FALSE(write_file_atomic(disk.path() / "x", std::string(64 << 10, 'n')));
  EXPECT_EQ(*read_file(disk.path() / "x"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(disk.path()), {}), 1);
}

TEST(File, a_secret_is_its_owners_whatever_the_umask) {
  const ScratchFolder folder;
  const mode_t before = ::umask(0);
  ASSERT_TRUE(make_private_dir(folder / "a" / "b"));
  ASSERT_TRUE(write_file_atomic(folder / "a" / "b" / "key", "old"));
  ASSERT_TRUE(write_private_file(folder / "a" / "b" / "key", "new"));
  ::umask(before);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder / "a" / "b").permissions(), perms::owner_all);
  EXPECT_EQ(std::filesystem::status(folder / "a" / "b" / "key").permissions(),
            perms::owner_read | perms::owner_write);
  EXPECT_EQ(*read_file(folder / "a" / "b" / "key"), "new");
}

TEST(File, maps_show_the_bytes_and_empty_files_are_empty) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "x", "abc"));
  ASSERT_TRUE(write_file_atomic(folder / "empty", ""));
  MappedFile map = *MappedFile::open(folder / "x");
  const MappedFile moved = std::move(map);
  EXPECT_EQ(moved.bytes()[2], 'c');
  EXPECT_TRUE(MappedFile::open(folder / "empty")->bytes().empty());
  EXPECT_FALSE(MappedFile::open(folder.path()));
}

}  // namespace
}  // namespace kedge
