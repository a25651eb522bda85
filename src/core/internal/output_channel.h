// The way of a program's output to ours: a pipe, or a pseudo-terminal where ours is a terminal.
#pragma once

#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge {

class OutputChannel {
 public:
  // Reads from `source`, writes to the descriptor `target`, which stays open; below 0: to none.
  OutputChannel(OwnedFd source, int target, bool is_terminal);

  // Passes on what there is, and returns it: it is valid until the next call.
  std::string_view pass();

  bool is_open() const { return source_.get() >= 0; }

  int poll_fd() const { return source_.get(); }

  void copy_window_size() const;

 private:
  // False when nobody reads what we write.
  bool write_on(std::string_view bytes);

  OwnedFd source_;
  int target_;
  bool is_terminal_;
  bool has_warned_ = false;
  std::vector<char> buffer_;
};

// What the program gets as its stdout and stderr.
struct ChildEnds {
  OwnedFd output;
  OwnedFd errors;
};

// One for both when our two are one, so that the order of what it prints stays.
Result<std::vector<OutputChannel>> make_output_channels(ChildEnds& ends);

// One for both, that passes nothing on.
Result<std::vector<OutputChannel>> make_silent_channel(ChildEnds& ends);

}  // namespace kedge
