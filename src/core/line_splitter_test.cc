#include "core/line_splitter.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const std::vector<std::string_view>& pieces) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string_view piece : pieces) {
    splitter.add(piece);
  }
  splitter.finish();
  return lines;
}

TEST(LineSplitterTest, lines_come_whole_from_any_pieces) {
  EXPECT_THAT(lines_of({"on", "e\ntw", "o\n\n", "three"}), ElementsAre("one", "two", "", "three"));
}

TEST(LineSplitterTest, of_a_progress_bar_the_last_state_is_kept) {
  EXPECT_THAT(lines_of({"10%\r 50%", "\r", "100%\n", "next\n"}), ElementsAre("100%", "next"));
  EXPECT_THAT(lines_of({"\r10%\r20%\r"}), ElementsAre("20%"));
}

TEST(LineSplitterTest, line_ends_of_windows_are_line_ends) {
  EXPECT_THAT(lines_of({"one\r\ntwo\r", "\nthree\r\n"}), ElementsAre("one", "two", "three"));
}

TEST(LineSplitterTest, a_line_without_end_is_cut) {
  const std::string text(LineSplitter::kMaxLineBytes + 5, 'x');
  const auto lines = lines_of({text, "y\n"});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), LineSplitter::kMaxLineBytes);
  EXPECT_EQ(lines[1], "xxxxxy");
}

TEST(LineSplitterTest, a_character_in_two_pieces_is_whole) {
  EXPECT_THAT(lines_of({"gr\xC3", "\xB6\xC3\x9F", "e\n"}), ElementsAre("gr\xC3\xB6\xC3\x9F"
                                                                       "e"));
}

}  // namespace
}  // namespace kedge
