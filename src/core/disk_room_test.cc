#include "core/disk_room.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/small_disk.h"

namespace kedge {
namespace {

TEST(DiskRoomTest, what_would_leave_too_little_is_refused_before_it_is_written) {
  const SmallDisk disk(1000);
  if (!disk.is_mounted()) {
    GTEST_SKIP() << "only root can mount a small disk";
  }
  EXPECT_EQ(default_reserve(disk.path()), 1000 * 1024 / 20);
  EXPECT_TRUE(check_room(disk.path(), 500 << 10, 400 << 10));
  const auto refused = check_room(disk.path(), 700 << 10, 400 << 10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Io);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("No space left"));
  EXPECT_TRUE(check_room(disk.path(), 700 << 10, 0));
  ASSERT_TRUE(write_file_atomic(disk.path() / "x", std::string(700 << 10, 'x')));
  EXPECT_FALSE(check_room(disk.path(), 0, 400 << 10));
}

TEST(DiskRoomTest, no_disk_keeps_more_than_a_gibibyte) {
  EXPECT_LE(default_reserve("/"), std::uint64_t{1} << 30U);
  EXPECT_GT(default_reserve("/"), 0U);
}

}  // namespace
}  // namespace kedge
