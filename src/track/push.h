// Push sends a run to a tracking server while it is written, on a thread of its own. It reads the
// run's files, as anybody else could, and touches nothing else of the run: a server that is away,
// frozen or wrong never makes training wait or fail.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/file.h"
#include "track/checkpoint_upload.h"

namespace kedge::track {

struct PushOptions {
  std::string server;  // URL
  Path token_file = {};
  std::chrono::milliseconds wait_at_end = std::chrono::seconds(10);
  std::chrono::milliseconds every = std::chrono::seconds(1);           // looks at the files
  std::chrono::milliseconds longest_pause = std::chrono::seconds(60);  // between two tries
  std::chrono::milliseconds sign_of_life = std::chrono::seconds(20);   // when there is nothing new
  WhichCheckpoints checkpoints = WhichCheckpoints::None;  // on a second thread: they may be large
};

class Push {
 public:
  Push(Path run, PushOptions options);
  Push(const Push&) = delete;
  Push& operator=(const Push&) = delete;
  ~Push();  // stops without waiting for what is not sent

  // All files of the run have their last content. Waits until they are sent, or as long as the
  // options say, and then tells what is missing and how to send it.
  void finish() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::track
