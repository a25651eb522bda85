#include "core/hex.h"

#include <string>

#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(Hex, is_two_digits_a_byte_and_is_read_back) {
  const std::string bytes("\x00\x0f\xa0\xff", 4);
  EXPECT_EQ(render_hex(bytes), "000fa0ff");
  EXPECT_EQ(parse_hex("000fA0ff"), bytes);
  EXPECT_EQ(parse_hex(""), "");
}

TEST(Hex, nothing_else_is_read) {
  for (const char* text : {"0", "abc", "0x12", "zz", "-1", " 1"}) {
    EXPECT_EQ(parse_hex(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace kedge
