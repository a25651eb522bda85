#include "core/terminal.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(Terminal, a_line_loses_what_matters_least_first) {
  const std::vector<LinePiece> pieces = {
      {"epoch 1/2"}, {"  loss 0.5", 1}, {"  lr 0.1", 3}, {"  2.0s", 2}};
  EXPECT_EQ(fit_line(pieces, 100), "epoch 1/2  loss 0.5  lr 0.1  2.0s");
  EXPECT_EQ(fit_line(pieces, 33), "epoch 1/2  loss 0.5  lr 0.1  2.0s");
  EXPECT_EQ(fit_line(pieces, 32), "epoch 1/2  loss 0.5  2.0s");
  EXPECT_EQ(fit_line(pieces, 20), "epoch 1/2  loss 0.5");
  EXPECT_EQ(fit_line(pieces, 10), "epoch 1/2");
  EXPECT_EQ(fit_line(pieces, 5), "epoch");
  const std::vector<LinePiece> alike = {{"e", 0}, {" a", 1}, {" b", 1}, {" c", 1}};
  EXPECT_EQ(fit_line(alike, 6), "e a b");
}

TEST(Terminal, characters_of_many_bytes_are_one_column) {
  EXPECT_EQ(fit_line(std::vector<LinePiece>{{"caf\xC3\xA9!"}}, 4), "caf\xC3\xA9");
  EXPECT_EQ(fit_line(std::vector<LinePiece>{{"caf\xC3\xA9"}, {"!", 1}}, 4), "caf\xC3\xA9");
}

TEST(Terminal, what_steers_a_terminal_is_shown_as_it_is_written) {
  EXPECT_EQ(printable("a\x1b[31mb\r\x07"), "a\\x1b[31mb\\x0d\\x07");
  EXPECT_EQ(printable("caf\xC3\xA9 \xE2\x82\xAC"), "caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xc2\\x9b31m");  // CSI as one character
  EXPECT_EQ(printable("\xff\xC3"), "\\xff\\xc3");
  EXPECT_EQ(printable("a\n\tb\x7f"), "a\\x0a\\x09b\\x7f");
  EXPECT_EQ(printable("a\n\tb\x7f", true), "a\n\tb\\x7f");
}

TEST(Terminal, colour_is_only_where_there_is_some) {
  EXPECT_EQ(coloured("best", Colour::Green, true), "\033[32mbest\033[0m");
  EXPECT_EQ(coloured("best", Colour::Green, false), "best");
}

}  // namespace
}  // namespace kedge
