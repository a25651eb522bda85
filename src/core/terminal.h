// What the terminal behind a file descriptor can show, and lines that fit into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace kedge {

struct Terminal {
  bool can_redraw = false;  // a line can be drawn over; false as well for TERM=dumb
  bool has_colour = false;  // false as well where NO_COLOR is set
  // Of a line that does not wrap: one less than the width. Unlimited where there is no terminal.
  std::size_t columns = std::numeric_limits<std::size_t>::max();
};

// As it is now: windows change their width.
Terminal look_at_terminal(int fd);

enum class Colour : std::uint8_t { Red, Green, Yellow };

// The text as it is, where there is no colour.
std::string coloured(std::string_view text, Colour colour, bool has_colour);

// One piece of a line, with the blanks that stand before it.
struct LinePiece {
  std::string text;
  int rank = 0;  // the greatest is left out first, of equals the last; rank 0 never
};

// The pieces that fit, joined; cut at the end when those of rank 0 are too long already.
std::string fit_line(std::span<const LinePiece> pieces, std::size_t columns);

// Control characters and bytes that are no UTF-8 as "\x1b": what a terminal is sent must not steer
// it. With `keeps_lines` line ends and tabs stay.
std::string printable(std::string_view text, bool keeps_lines = false);

}  // namespace kedge
