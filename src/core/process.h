// Other programs, run to their end without a shell: what they print, how they end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

struct Command {
  std::vector<std::string> args;  // the program first; looked up in PATH unless it has a slash
  Path folder = {};               // where it runs; empty: here
  // How long it may take: then it and what it started are killed, and the error is Unavailable.
  std::optional<std::chrono::milliseconds> timeout = {};
};

struct ProcessResult {
  int exit_code = 0;  // 128 + the signal's number when a signal ended it, as shells say
  std::string output;
  std::string errors;

  bool is_ok() const { return exit_code == 0; }
};

// Runs the command with an empty stdin and waits for it. A program that runs and fails is a value
// with its exit code; one that cannot be started is an error (NotFound when it does not exist).
// It starts with no signal blocked, whatever the calling thread blocks.
Result<ProcessResult> run_process(const Command& command);

// The program's file, or nothing when it is not installed.
std::optional<Path> find_program(std::string_view name);

}  // namespace kedge
