#include "core/random_text.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(random_text, has_the_length_and_the_letters_it_should) {
  EXPECT_THAT(make_random_hex(16), testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_THAT(make_random_word(8), testing::MatchesRegex("[a-z0-9]{8}"));
  EXPECT_EQ(make_random_word(0), "");
}

TEST(random_text, does_not_come_twice_and_uses_every_letter) {
  std::set<std::string> words;
  std::set<char> letters;
  for (int i = 0; i < 1000; ++i) {
    const std::string word = make_random_word(12);
    words.insert(word);
    letters.insert(word.begin(), word.end());
  }
  EXPECT_EQ(words.size(), 1000U);
  EXPECT_EQ(letters.size(), 36U);
}

}  // namespace
}  // namespace kedge
