#include "core/log.h"

#include <cstdio>

#include <unistd.h>

namespace kedge {

void print_line(std::string_view text) {
  fmt::print(stderr, "{}\n", text);
}

void print_warning(std::string_view text) {
  static const bool is_terminal = isatty(STDERR_FILENO) != 0;
  const std::string_view label = is_terminal ? "\033[33mkedge: warning:\033[0m" : "kedge: warning:";
  fmt::print(stderr, "{} {}\n", label, text);
}

}  // namespace kedge
