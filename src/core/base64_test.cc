#include "core/base64.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace kedge {
namespace {

// RFC 4648, section 10.
TEST(base64, gives_the_published_texts_and_takes_them_back) {
  for (const auto& [bytes, text] : {std::pair<std::string_view, std::string_view>{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
    EXPECT_EQ(decode_base64(text.substr(0, text.find('='))), bytes);
  }
  EXPECT_EQ(encode_base64("\xFF\xFB"), "//s=");
}

TEST(base64, refuses_what_no_bytes_give) {
  for (const char* text : {"Zg=a", "Zm9v!", "Z", "Zm9vY", "Zg-_"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace kedge
