#include "core/log.h"

#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

#include "core/terminal.h"

namespace kedge {
namespace {

// fmt::print() throws when nothing can be written; a full disk behind a log must end no training.
void write_to_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void print_line(std::string_view text) {
  write_to_stderr(fmt::format("{}\n", text));
}

void print_warning(std::string_view text) {
  const std::string label =
      coloured("kedge: warning:", Colour::Yellow, look_at_terminal(STDERR_FILENO).has_colour);
  write_to_stderr(fmt::format("{} {}\n", label, printable(text, true)));
}

}  // namespace kedge
