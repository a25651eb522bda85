#include "core/terminal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/utf8.h"

namespace kedge {
namespace {

constexpr std::size_t kUsualColumns = 80;
// Control characters are below the blank, and from DEL on up to U+009F.
constexpr char32_t kBlank = 0x20;
constexpr char32_t kDelete = 0x7f;
constexpr char32_t kAfterControls = 0xa0;
constexpr char32_t kNone = 0xfffd;  // what take_character() gives for a byte that is none

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t columns_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    return size.ws_col;
  }
  const std::string given = variable("COLUMNS");
  std::size_t columns = 0;
  std::from_chars(given.data(), given.data() + given.size(), columns);
  return columns > 1 ? columns : kUsualColumns;
}

}  // namespace

Terminal look_at_terminal(int fd) {
  Terminal terminal;
  if (::isatty(fd) != 1) {
    return terminal;
  }
  const std::string kind = variable("TERM");
  terminal.can_redraw = kind != "dumb";
  terminal.has_colour = terminal.can_redraw && !kind.empty() && variable("NO_COLOR").empty();
  // In the last column the cursor waits, and some terminals have wrapped by then.
  terminal.columns = columns_of(fd) - 1;
  return terminal;
}

std::string coloured(std::string_view text, Colour colour, bool has_colour) {
  const int code = colour == Colour::Red ? 31 : colour == Colour::Green ? 32 : 33;
  return has_colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::string fit_line(std::span<const LinePiece> pieces, std::size_t columns) {
  std::vector<LinePiece> kept(pieces.begin(), pieces.end());
  for (;;) {
    std::string line;
    for (const LinePiece& piece : kept) {
      line += piece.text;
    }
    if (count_characters(line) <= columns) {
      return line;
    }
    // Of equal ranks the last one.
    auto least = kept.rbegin();
    for (auto piece = kept.rbegin(); piece != kept.rend(); ++piece) {
      least = piece->rank > least->rank ? piece : least;
    }
    if (kept.empty() || least->rank == 0) {
      std::string_view rest = line;
      for (std::size_t i = 0; i < columns; ++i) {
        take_character(rest);
      }
      return line.substr(0, line.size() - rest.size());
    }
    kept.erase(std::next(least).base());
  }
}

std::string printable(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t character = take_character(text);
    const std::string_view taken = before.substr(0, before.size() - text.size());
    const bool is_line = keeps_lines && (character == '\n' || character == '\t');
    const bool is_byte = character == kNone && taken.size() == 1;
    const bool is_control =
        character < kBlank || (character >= kDelete && character < kAfterControls);
    if (is_line || (!is_byte && !is_control)) {
      out += taken;
      continue;
    }
    for (const char byte : taken) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

}  // namespace kedge
