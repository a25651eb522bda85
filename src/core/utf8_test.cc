#include "core/utf8.h"

#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(utf8, only_whole_characters_count) {
  EXPECT_TRUE(is_utf8("a\xC3\xA4\xF0\x9F\x9A\x80"));
  EXPECT_FALSE(is_utf8("\xC3"));
  EXPECT_FALSE(is_utf8("\xC0\x80"));          // too long
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  EXPECT_TRUE(is_utf8("\xF4\x8F\xBF\xBF"));   // the last character
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // beyond it
  EXPECT_FALSE(is_utf8("\xE0\x9F\xBF"));      // too long
  EXPECT_FALSE(is_utf8("\xF0\x8F\xBF\xBF"));
  EXPECT_FALSE(is_utf8("\xE2\x82"));  // cut off
  EXPECT_EQ(count_characters("\xC3\xA4x"), 2U);
  EXPECT_EQ(as_utf8("a\xFF\xC3\xA4\xC3"), "a\xEF\xBF\xBD\xC3\xA4\xEF\xBF\xBD");
  EXPECT_EQ(as_utf8("plain"), "plain");
}

// The examples are those of RFC 3629 and of Unicode's table 3-7.
TEST(utf8, what_is_no_utf8_is_replaced) {
  EXPECT_EQ(as_utf8("a\xFF"
                    "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(as_utf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // surrogate
  EXPECT_EQ(as_utf8("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");                  // the last one
  EXPECT_EQ(as_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // cut off
}

}  // namespace
}  // namespace kedge
