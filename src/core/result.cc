#include "core/result.h"

#include <cstdio>
#include <cstdlib>

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
  const char* what = error.kind == ErrorKind::Interrupted ? "" : "error: ";
  std::fprintf(stderr, "kedge: %s%s\n", what, error.message.c_str());
  if (!error.hint.empty()) {
    std::fprintf(stderr, "  %s\n", error.hint.c_str());
  }
  return exit_code(error.kind);
}

void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "kedge: internal error at %s:%d: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace kedge
