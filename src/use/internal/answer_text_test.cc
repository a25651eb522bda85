#include "use/internal/answer_text.h"

#include <gtest/gtest.h>

namespace kedge::use {
namespace {

// What is shown after each byte, parted by '|'.
std::string shown(const std::string& text, const std::vector<std::string>& stops) {
  const LanguageModel bytes;
  AnswerText answer(bytes, stops);
  std::string pieces;
  for (const char c : text) {
    const auto wish = answer.push(static_cast<unsigned char>(c));
    pieces += answer.take_new() + "|";
    if (wish.value() == Wish::Enough) {
      break;
    }
  }
  answer.finish();
  return pieces + answer.take_new();
}

TEST(AnswerText, shows_what_cannot_become_a_stop_text) {
  EXPECT_EQ(shown("abc", {}), "a|b|c|");
  EXPECT_EQ(shown("a\n\nb", {"\n\n"}), "a|||");
  EXPECT_EQ(shown("a\nb", {"\n\n"}), "a||\nb|");
  EXPECT_EQ(shown("xaab", {"aab"}), "x||||");
  EXPECT_EQ(shown("xaaac", {"aab"}), "x|||a|aac|");
  EXPECT_EQ(shown("ab", {"bc"}), "a||b") << "the end is no stop text";
}

TEST(AnswerText, ends_at_the_first_of_the_stop_texts) {
  EXPECT_EQ(shown("one two", {"two", "e t"}), "o|n||||");
  EXPECT_EQ(shown("one", {""}), "o|n|e|") << "nothing is no stop text";
}

TEST(AnswerText, shows_whole_characters) {
  EXPECT_EQ(shown("\xC3\xA9t", {}), "|\xC3\xA9|t|");
  EXPECT_EQ(shown("\xF0\x9F\x99\x82", {}), "|||\xF0\x9F\x99\x82|");
  EXPECT_EQ(shown("\xF0\x9F", {}), "||\xF0\x9F") << "all of it at the end";
}

}  // namespace
}  // namespace kedge::use
