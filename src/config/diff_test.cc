#include "config/diff.h"

#include <gtest/gtest.h>

#include "config/render.h"

namespace kedge::config {
namespace {

LoadedConfig load(const std::string& text) {
  auto config = load_config({.text = text});
  EXPECT_TRUE(config);
  return std::move(*config);
}

TEST(ConfigDiff, a_config_does_not_differ_from_its_own_effective_text) {
  const LoadedConfig config = load("optimizer: {lr: 3e-4}\ndata: {mix: {a: 1, b: 2}}\n");
  EXPECT_TRUE(find_changes(render_effective(config), config)->empty());
}

TEST(ConfigDiff, lists_what_changed_with_both_values) {
  const LoadedConfig before = load("optimizer: {lr: 0.1}\n");
  const auto changes =
      find_changes(render_effective(before), load("optimizer: {lr: 0.2}\ntrain: {epochs: 20}\n"));
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_EQ((*changes)[0].key, "train.epochs");
  EXPECT_EQ((*changes)[0].before, "10");
  EXPECT_EQ((*changes)[1].key, "optimizer.lr");
  EXPECT_EQ((*changes)[1].after, "0.2");
}

TEST(ConfigDiff, a_key_that_means_the_same_as_another_is_told_once) {
  const auto changes =
      find_changes("dist: {ranks: 2}\njob: {ranks: 1}\n", load("dist: {ranks: 2}\n"));
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_TRUE(changes->empty());
  const auto fewer = find_changes("dist: {ranks: 4}\n", load("dist: {ranks: 2}\n"));
  ASSERT_TRUE(fewer);
  ASSERT_EQ(fewer->size(), 1U);
  EXPECT_EQ(fewer->front().key, "dist.ranks");
}

}  // namespace
}  // namespace kedge::config
