#include "mlflow/internal/graphql_limits.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge::mlflow {
namespace {

// The limits and words are those of mlflow/server/graphql/graphql_no_batching.py.
std::string excess_of(const std::string& text) {
  const auto document = graphql::parse_document(text);
  return document ? find_excess(*document).value_or("none") : document.error().message;
}

std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    all += text + std::to_string(i) + " ";
  }
  return all;
}

TEST(GraphqlLimits, ten_root_fields_and_ten_aliases_of_a_level) {
  EXPECT_EQ(excess_of("{ " + repeat("f", 10) + "}"), "none");
  EXPECT_EQ(excess_of("{ " + repeat("f", 11) + "}"),
            "GraphQL queries should have at most 10 root fields, got 11 root fields.");
  std::string aliases;
  for (int i = 0; i < 11; ++i) {
    aliases += "a" + std::to_string(i) + ": f ";
  }
  EXPECT_EQ(excess_of("{ r { " + aliases + "} }"),
            "GraphQL queries should have at most 10 aliases, got 11 aliases.");
}

TEST(GraphqlLimits, aliases_in_fragments_are_counted_together) {
  std::string parts;
  for (int i = 0; i < 11; ++i) {
    parts += "... on T { a" + std::to_string(i) + ": f } ";
  }
  EXPECT_EQ(excess_of("{ r { " + parts + "} }"),
            "GraphQL queries should have at most 10 aliases, got 11 aliases.");
}

TEST(GraphqlLimits, depth_and_number_end_the_look) {
  std::string deep = "f";
  for (int i = 0; i < 9; ++i) {
    deep = "f { " + deep + " }";
  }
  EXPECT_EQ(excess_of("{ " + deep + " }"), "none");
  EXPECT_EQ(excess_of("{ f { " + deep + " } }"), "Query exceeds maximum depth of 10");
  EXPECT_EQ(excess_of("{ r { " + repeat("f", 1000) + "} }"),
            "Query exceeds maximum total selections of 1000");
  EXPECT_EQ(excess_of("{ ...F } fragment F on Q { f { ...F } }"),
            "Query exceeds maximum depth of 10");
}

TEST(GraphqlLimits, fragments_that_hold_themselves_do_not_hang) {
  EXPECT_EQ(excess_of("{ ...F } fragment F on Q { ...G f } fragment G on Q { ...F g }"), "none");
  EXPECT_EQ(excess_of("{ ...Missing f }"), "none");
}

}  // namespace
}  // namespace kedge::mlflow
