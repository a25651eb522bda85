#include "store/pattern.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge::store {
namespace {

bool is_in(const std::string& pattern, const std::string& text) {
  const Result<Pattern> compiled = Pattern::compile(pattern);
  EXPECT_TRUE(compiled) << pattern << ": " << compiled.error().message;
  return compiled && compiled->is_in(text);
}

TEST(pattern, plain_text_is_looked_for_anywhere) {
  EXPECT_TRUE(is_in("net", "resnet18"));
  EXPECT_FALSE(is_in("Net", "resnet18"));
  EXPECT_TRUE(is_in("", ""));
}

TEST(pattern, each_operator_means_what_it_does_elsewhere) {
  EXPECT_TRUE(is_in("resnet.*", "my-resnet18"));
  EXPECT_TRUE(is_in("^resnet(18|50)$", "resnet50"));
  EXPECT_FALSE(is_in("^resnet(18|50)$", "resnet501"));
  EXPECT_FALSE(is_in("^resnet(18|50)$", "a resnet50"));
  EXPECT_TRUE(is_in("ab?c", "ac"));
  EXPECT_TRUE(is_in("ab+c", "abbbc"));
  EXPECT_FALSE(is_in("ab+c", "ac"));
  EXPECT_TRUE(is_in("x|y|zz", "azz"));
  EXPECT_TRUE(is_in("^$", ""));
  EXPECT_FALSE(is_in("^$", "a"));
  EXPECT_TRUE(is_in("(a|)b", "b"));
  EXPECT_TRUE(is_in("(?:ab)+$", "xabab"));
  EXPECT_FALSE(is_in("a.b", "a\nb"));
}

TEST(pattern, classes_and_escapes) {
  EXPECT_TRUE(is_in("^[a-c]+$", "abcabc"));
  EXPECT_FALSE(is_in("^[^a-c]+$", "xya"));
  EXPECT_TRUE(is_in("^[]x-]+$", "]-x"));
  EXPECT_TRUE(is_in("run-\\d+$", "run-42"));
  EXPECT_FALSE(is_in("^\\D+$", "a1"));
  EXPECT_TRUE(is_in("^[\\w.]+\\s[\\W]$", "a_1.Z !"));
  EXPECT_TRUE(is_in("1\\.0", "v1.0"));
  EXPECT_FALSE(is_in("1\\.0", "v1x0"));
  EXPECT_TRUE(is_in("(?i)ResNET[a-f]", "resnetC"));
}

TEST(pattern, characters_are_not_bytes) {
  EXPECT_TRUE(is_in("^.$", "\xC3\xA4"));
  EXPECT_TRUE(is_in("^[\xCE\xB1-\xCF\x89]+$", "\xCE\xB2\xCE\xB3"));
  EXPECT_FALSE(is_in("^[\xCE\xB1-\xCF\x89]+$", "b"));
  EXPECT_TRUE(is_in("\xF0\x9F\x9A\x80.", "\xF0\x9F\x9A\x80!"));
}

TEST(pattern, what_is_wrong_is_said) {
  for (const auto* pattern : {"(", ")", "*a", "[a", "a\\", "\\q", "a{2}", "[z-a]", "(?=x)", "]"}) {
    const Result<Pattern> compiled = Pattern::compile(pattern);
    ASSERT_FALSE(compiled) << pattern;
    EXPECT_EQ(compiled.error().kind, ErrorKind::Usage);
  }
  EXPECT_EQ(Pattern::compile("a(b").error().message, "the pattern has '(' without ')'");
}

TEST(pattern, limits_hold) {
  EXPECT_FALSE(Pattern::compile(std::string(51, '(') + "a" + std::string(51, ')')));
  EXPECT_FALSE(Pattern::compile(std::string(1025, '.')));
  EXPECT_TRUE(is_in("^" + std::string(1000, '.') + "$", std::string(1000, 'x')));
}

// With backtracking this would take longer than the sun will shine.
TEST(pattern, no_pattern_is_slow) {
  EXPECT_FALSE(is_in("^(a*)*b$", std::string(2000, 'a')));
  EXPECT_FALSE(is_in("(a|a)*(a|aa)+$b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace kedge::store
