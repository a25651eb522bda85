// Result<T> is how kedge returns what a caller can act on: a value, or an Error that says what
// failed (with the value), and what to do next. KEDGE_CHECK is for broken invariants of our own.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace kedge {

enum class ErrorKind : std::uint8_t {
  Usage,        // the user's input or config is wrong: exit 2
  NotFound,     // something named does not exist
  Io,           // the operating system refused: disk full, permission, ...
  Corrupt,      // bytes exist but are not what they claim to be
  Unavailable,  // an outside service or device is not there right now
  Interrupted,  // asked to stop; progress is saved: exit 85
};

struct Error {
  ErrorKind kind = ErrorKind::Io;
  std::string message;
  std::string hint = {};  // what to do next; may be empty
};

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string message, std::string hint = {}) {
  return std::unexpected(Error{kind, std::move(message), std::move(hint)});
}

// The exit codes of every kedge program (docs/reference/exit-codes.md).
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRunMeAgain = 85;  // HTCondor's usual checkpoint exit code

int exit_code(ErrorKind kind);

// Prints "kedge: error: ..." and the hint to stderr and returns the exit code.
int report(const Error& error);

[[noreturn]] void check_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace kedge

// The value of a Result, or return its error from the enclosing function.
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define KEDGE_TRY(expression)                                   \
  ({                                                            \
    auto kedge_result_ = (expression);                          \
    if (!kedge_result_)                                         \
      return std::unexpected(std::move(kedge_result_).error()); \
    std::move(kedge_result_).value();                           \
  })

// Aborts, in release builds too, when kedge itself is wrong. Never for user input.
#define KEDGE_CHECK(condition, why)                               \
  do {                                                            \
    if (!(condition))                                             \
      ::kedge::check_failed(#condition, why, __FILE__, __LINE__); \
  } while (false)
