#include "core/url.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge {
namespace {

// The expected texts are those of python3's urllib.parse.quote(text, safe="") and unquote().
TEST(Url, encodes_all_but_what_rfc_3986_leaves) {
  EXPECT_EQ(encode_url_part("a b/c+d~e-f._%\u00fc"), "a%20b%2Fc%2Bd~e-f._%25%C3%BC");
  EXPECT_EQ(encode_url_path("a b/c%/d"), "a%20b/c%25/d");
}

TEST(Url, decodes_what_it_encoded) {
  const std::string text("any \0 byte \xff/?#&=%41", 19);
  EXPECT_EQ(decode_url(encode_url_part(text)).text, text);
  EXPECT_EQ(decode_url("a%2fB%2F").text, "a/B/");
}

TEST(Url, leaves_percent_signs_that_begin_no_code_and_says_so) {
  for (const std::string text : {"%", "100%", "%2", "%zz", "%2x", "a%"}) {
    EXPECT_EQ(decode_url(text).text, text);
    EXPECT_FALSE(decode_url(text).is_sound) << text;
  }
  EXPECT_TRUE(decode_url("%25").is_sound);
  EXPECT_EQ(decode_url("%2541").text, "%41") << "once";
}

}  // namespace
}  // namespace kedge
