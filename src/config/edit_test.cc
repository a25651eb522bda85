#include "config/edit.h"

#include <gtest/gtest.h>

namespace kedge::config {
namespace {

std::string edited(const std::string& text, const std::string& value = "256") {
  const auto changed = set_in_text(text, "loader.batch_size", value);
  return changed ? *changed : changed.error().message;
}

TEST(Edit, a_value_changes_and_comments_stay) {
  EXPECT_EQ(
      edited("# mine\nloader:   # how\n  workers: 2\n  batch_size: 64  # of one GPU\nseed: 3\n"),
      "# mine\nloader:   # how\n  workers: 2\n  batch_size: 256  # of one GPU\nseed: 3\n");
  EXPECT_EQ(edited("loader: {batch_size: '64', workers: 2} # x\n"),
            "loader: {batch_size: 256, workers: 2} # x\n");
  EXPECT_EQ(edited("{seed: 1, loader: {batch_size: 64}}"), "{seed: 1, loader: {batch_size: 256}}");
  EXPECT_EQ(edited("loader:\n  batch_size:   # to be found\n"),
            "loader:\n  batch_size: 256   # to be found\n");
}

TEST(Edit, a_value_that_is_not_there_gets_a_line_of_its_own) {
  EXPECT_EQ(edited("loader:  # how\n    # threads\n    workers: 2\nseed: 3\n"),
            "loader:  # how\n    batch_size: 256\n    # threads\n    workers: 2\nseed: 3\n");
  EXPECT_EQ(edited("loader: {workers: 2}\n"), "loader: {batch_size: 256, workers: 2}\n");
  EXPECT_EQ(edited("loader: {}\n"), "loader: {batch_size: 256}\n");
  EXPECT_EQ(edited("loader:\nseed: 3\n"), "loader:\n  batch_size: 256\nseed: 3\n");
  EXPECT_EQ(edited("seed: 3"), "seed: 3\nloader:\n  batch_size: 256\n");
  EXPECT_EQ(edited("{seed: 3}"), "{loader: {batch_size: 256}, seed: 3}");
  EXPECT_EQ(edited("# nothing yet\n"), "# nothing yet\nloader:\n  batch_size: 256\n");
}

TEST(Edit, the_name_that_workshops_use_is_found) {
  EXPECT_EQ(edited("batch_size: 64 # small\nnum_epochs: 3\n"),
            "batch_size: 256 # small\nnum_epochs: 3\n");
}

TEST(Edit, what_others_refer_to_is_not_changed) {
  const std::string text = "loader: {batch_size: &size 64, eval_batch_size: *size}\n";
  EXPECT_EQ(edited(text), "loader.batch_size cannot be changed in this file without changing more");
  EXPECT_EQ(edited("- a list\n"),
            "loader.batch_size cannot be changed in this file without changing more");
}

}  // namespace
}  // namespace kedge::config
