#include "core/inside.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/scratch_folder.h"

namespace kedge {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

class InsideTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_dirs(folder_ / "run" / "media"));
    ASSERT_TRUE(write_file_atomic(folder_ / "secret", "secret"));
    ASSERT_TRUE(write_file_atomic(run() / "media" / "x", "plain"));
  }

  Path run() const { return folder_ / "run"; }

  ScratchFolder folder_;
};

TEST_F(InsideTest, a_path_that_leads_out_of_its_folder_is_told_from_one_that_does_not) {
  for (const auto good : {"a", "a/b.txt", "..a/b..", ".hidden", "a b", "\xC3\xA4", "a\\b"}) {
    EXPECT_TRUE(is_inside(good)) << good;
  }
  for (const auto bad : {""sv, "/etc/passwd"sv, ".."sv, "../x"sv, "a/../../x"sv, "a//b"sv, "./a"sv,
                         "a/"sv, "a\0b"sv, "..\\x"sv, "a\\..\\x"sv, "\\x"sv}) {
    EXPECT_FALSE(is_inside(bad)) << bad;
  }
  EXPECT_FALSE(is_inside(std::string(4097, 'a')));
}

TEST_F(InsideTest, nothing_is_written_outside_or_through_a_link) {
  EXPECT_EQ(join_inside(run(), "media/new").value(), run() / "media" / "new");
  EXPECT_EQ(join_inside(folder_ / "none", "a/b").value(), folder_ / "none" / "a" / "b");
  EXPECT_EQ(join_inside(run(), "../secret").error().kind, ErrorKind::Corrupt);
  std::filesystem::create_directory_symlink(folder_.path(), run() / "out");
  std::filesystem::create_symlink(folder_ / "secret", run() / "link");
  EXPECT_THAT(join_inside(run(), "out/secret").error().message, HasSubstr("symbolic link"));
  EXPECT_THAT(join_inside(run(), "link").error().message, HasSubstr("symbolic link"));
  // The folder that the user gave may be a link.
  EXPECT_TRUE(join_inside(run() / "out", "new"));
}

TEST_F(InsideTest, only_regular_files_are_read_and_no_link_is_followed) {
  EXPECT_EQ(read_inside(run(), "media/x").value(), "plain");
  EXPECT_EQ(read_inside(run(), "media/y").error().kind, ErrorKind::NotFound);
  EXPECT_EQ(read_inside(run(), "media").error().kind, ErrorKind::Io);
  std::filesystem::create_symlink(folder_ / "secret", run() / "link");
  std::filesystem::create_symlink("media/x", run() / "near");
  std::filesystem::create_directory_symlink(folder_.path(), run() / "out");
  std::filesystem::create_symlink("/dev/zero", run() / "zero");
  ASSERT_EQ(::mkfifo((run() / "pipe").c_str(), 0600), 0);
  for (const auto bad : {"link", "near", "out/secret", "zero"}) {
    EXPECT_THAT(read_inside(run(), bad).error().message, HasSubstr("symbolic link")) << bad;
  }
  EXPECT_THAT(read_inside(run(), "pipe").error().message, HasSubstr("no regular file"));
  EXPECT_EQ(read_inside(run(), "../secret").error().kind, ErrorKind::Corrupt);
  EXPECT_FALSE(open_folder_inside(run(), "out"));
  EXPECT_TRUE(open_folder_inside(run(), "media"));
  EXPECT_EQ(read_inside(run() / "out", "secret").value(), "secret");  // the caller's own link
  EXPECT_THAT(read_inside(run(), "media/x", 4).error().message, HasSubstr("more than 4 bytes"));
}

}  // namespace
}  // namespace kedge
