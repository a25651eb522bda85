// What the supervisor tells rank 0 while it runs, for the run's log: rank 0 alone writes it, and in
// a hang its main thread is busy waiting.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "core/file.h"

namespace kedge::ranks {

// Where rank 0 finds its notes: the number of a pipe's end that it inherits.
inline constexpr const char* kNotesVariable = "KEDGE_NOTES_FD";

// Never waits: what does not fit into the pipe is cut.
void send_note(int fd, std::string_view text);

// Hands each note to `on_note`, on a thread of its own, while it lives. Without a supervisor there
// are none.
class RankNotes {
 public:
  explicit RankNotes(std::function<void(const std::string& text)> on_note);
  RankNotes(const RankNotes&) = delete;
  RankNotes& operator=(const RankNotes&) = delete;
  ~RankNotes();

 private:
  void listen();

  std::function<void(const std::string& text)> on_note_;
  OwnedFd notes_;
  OwnedFd stop_;
  std::thread thread_;
};

}  // namespace kedge::ranks
