#include "core/log.h"

#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

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
  static const bool is_terminal = isatty(STDERR_FILENO) != 0;
  const std::string_view label = is_terminal ? "\033[33mkedge: warning:\033[0m" : "kedge: warning:";
  write_to_stderr(fmt::format("{} {}\n", label, text));
}

}  // namespace kedge
