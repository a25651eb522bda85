#include "use/internal/row_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::use {
namespace {

class RowFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "kedge-rows-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Path folder_;
};

TEST_F(RowFileTest, a_torn_last_row_is_cut_and_the_rest_is_kept) {
  std::ofstream(folder_ / "out.csv") << "id,x\na,1\nb,2\nc,";
  auto file = RowFile::open(folder_ / "out.csv", "id,x");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->existing(), testing::ElementsAre("a,1", "b,2"));
  ASSERT_TRUE(file->append({"c,3"}));
  EXPECT_EQ(*read_file(folder_ / "out.csv"), "id,x\na,1\nb,2\nc,3\n");
}

TEST_F(RowFileTest, another_files_header_is_refused_and_the_file_left_alone) {
  std::ofstream(folder_ / "out.csv") << "something else\n";
  EXPECT_FALSE(RowFile::open(folder_ / "out.csv", "id,x"));
  EXPECT_EQ(*read_file(folder_ / "out.csv"), "something else\n");
}

TEST_F(RowFileTest, a_full_disk_is_an_error) {
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP();
  }
  std::filesystem::create_symlink("/dev/full", folder_ / "full");
  const auto file = RowFile::open(folder_ / "full", "id");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::Io);
}

}  // namespace
}  // namespace kedge::use
