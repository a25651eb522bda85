#include "core/result.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "core/terminal.h"

namespace kedge {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage:
      return kExitUsage;
    case ErrorKind::Interrupted:
      return kExitRunMeAgain;
    default:
      return kExitFailed;
  }
}

int report(const Error& error) {
  // To be stopped is no error: progress is saved.
  const bool has_colour = look_at_terminal(STDERR_FILENO).has_colour;
  const std::string what = error.kind == ErrorKind::Interrupted
                               ? "kedge:"
                               : coloured("kedge: error:", Colour::Red, has_colour);
  std::fprintf(stderr, "%s %s\n", what.c_str(), printable(error.message, true).c_str());
  if (!error.hint.empty()) {
    std::fprintf(stderr, "  %s\n", printable(error.hint, true).c_str());
  }
  return exit_code(error.kind);
}

void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "kedge: internal error at %s:%d: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace kedge
