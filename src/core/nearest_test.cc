#include "core/nearest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kedge {
namespace {

const std::vector<std::string> kNames = {"resnet18", "resnet34", "resnet50", "simplecnn"};

TEST(Nearest, finds_a_swapped_pair_of_letters) {
  EXPECT_EQ(nearest_name("resnet81", kNames), "resnet18");
}

TEST(Nearest, ignores_case) {
  EXPECT_EQ(nearest_name("SimpleCNN", kNames), "simplecnn");
}

TEST(Nearest, says_nothing_when_nothing_is_close) {
  EXPECT_EQ(nearest_name("transformer", kNames), "");
}

TEST(Nearest, orders_names_by_how_alike_they_are) {
  EXPECT_EQ(by_nearness("simpleconv", {"resnet18", "simplecnn", "simplest"}),
            (std::vector<std::string>{"simplecnn", "simplest", "resnet18"}));
}

TEST(Nearest, the_error_lists_all_names) {
  const Error error = unknown_name("model", "resnet51", kNames);
  EXPECT_EQ(error.message, "unknown model 'resnet51'; did you mean 'resnet50'?");
  EXPECT_EQ(error.hint, "known: resnet18, resnet34, resnet50, simplecnn");
}

}  // namespace
}  // namespace kedge
