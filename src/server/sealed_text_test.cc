#include "server/sealed_text.h"

#include <gtest/gtest.h>

namespace kedge::server {
namespace {

TEST(SealedTextTest, opens_with_the_same_passphrase_for_the_same_thing_alone) {
  const std::string sealed = seal_text("sk-12345", "long passphrase", "s-1").value();
  EXPECT_EQ(sealed.find("sk-12345"), std::string::npos);
  EXPECT_EQ(open_text(sealed, "long passphrase", "s-1").value(), "sk-12345");
  EXPECT_FALSE(open_text(sealed, "another passphrase", "s-1"));
  EXPECT_FALSE(open_text(sealed, "long passphrase", "s-2"));
}

TEST(SealedTextTest, is_another_text_each_time) {
  const std::string first = seal_text("", "p", "").value();
  EXPECT_NE(first, seal_text("", "p", "").value());
  EXPECT_EQ(open_text(first, "p", "").value(), "");
}

TEST(SealedTextTest, a_changed_letter_is_noticed) {
  std::string sealed = seal_text("sk-12345", "p", "a").value();
  char& letter = sealed[40];  // of the text; salt and nonce come before it
  letter = letter == 'A' ? 'B' : 'A';
  EXPECT_FALSE(open_text(sealed, "p", "a"));
  EXPECT_FALSE(open_text("", "p", "a"));
  EXPECT_FALSE(open_text("no base64!", "p", "a"));
}

}  // namespace
}  // namespace kedge::server
