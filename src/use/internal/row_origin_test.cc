#include "use/internal/row_origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_folder.h"

namespace kedge::use {
namespace {

using testing::HasSubstr;

class RowOriginTest : public testing::Test {
 protected:
  RowOriginTest() {
    for (const std::string name : {"a", "b"}) {
      EXPECT_TRUE(make_dirs(folder_ / name));
      EXPECT_TRUE(
          write_file_atomic(folder_ / name / "manifest.json", "{\"of\": \"" + name + "\"}"));
    }
    EXPECT_TRUE(write_file_atomic(output_, "id\n"));
  }

  Result<void> claim(const std::string& checkpoint, std::int64_t top_k, bool has_rows) {
    return claim_rows(output_, {.checkpoint = folder_ / checkpoint, .top_k = top_k}, has_rows);
  }

  ScratchFolder folder_;
  Path output_ = folder_ / "out.csv";
};

TEST_F(RowOriginTest, rows_are_continued_by_the_checkpoint_that_began_them) {
  ASSERT_TRUE(claim("a", 5, /*has_rows=*/false));
  EXPECT_TRUE(claim("a", 5, /*has_rows=*/true));
  const auto other = claim("b", 5, /*has_rows=*/true);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::Usage);
  EXPECT_THAT(other.error().message, HasSubstr("holds predictions of another checkpoint"));
  EXPECT_THAT(claim("a", 3, /*has_rows=*/true).error().message,
              HasSubstr("was made with --top-k 5"));
}

TEST_F(RowOriginTest, an_output_without_rows_belongs_to_nobody) {
  ASSERT_TRUE(claim("a", 5, /*has_rows=*/false));
  EXPECT_TRUE(claim("b", 5, /*has_rows=*/false));
  EXPECT_TRUE(claim("b", 5, /*has_rows=*/true));
}

TEST_F(RowOriginTest, rows_of_unknown_origin_are_taken_with_a_warning) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(claim("a", 5, /*has_rows=*/true));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("does not say which model"));
  EXPECT_FALSE(claim("b", 5, /*has_rows=*/true));
}

}  // namespace
}  // namespace kedge::use
