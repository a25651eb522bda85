// Saver writes checkpoints beside the training, one at a time, in bounded memory: the caller
// hands over copies of its tensors and goes on; hashing, writing, syncing, verifying and retention
// happen on the saver's threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/library.h"
#include "checkpoint/storage.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::checkpoint {

// The views of `parts` point into `memory`, which nobody may change until is_busy() is false:
// whoever trains on meanwhile hands over copies. A changed byte would be saved as it is found.
struct Save {
  std::string name;  // the folder's, e.g. of render_name; a checkpoint of that name is replaced
  std::vector<Part> parts;
  nlohmann::json state;  // "step", "epoch", "score" (number or null), "more_is_better" at top level
  std::shared_ptr<void> memory;  // shared: the caller may keep it to fill it again
};

// One per folder that was written: with a fast folder a save has two, the durable one later.
struct SaveReport {
  std::string name;
  std::int64_t step = -1;
  std::uint64_t bytes = 0;
  double write_s = 0;   // until committed
  double verify_s = 0;  // reading it back
  double cpu_s = 0;     // of the saver's thread, both
  bool is_durable = false;
  Result<void> result = {};               // an error: the older checkpoints are still there
  std::vector<std::string> removed = {};  // by retention
  std::vector<Error> trouble = {};        // what went wrong without harm to the save
};

// Many processes that write one checkpoint together, each the tensors it was given. All make the
// same saves in the same order; the first one opens the folder, and commits it when all are done.
struct Writers {
  std::int64_t index = 0;
  std::int64_t count = 1;
  // Notes between the writers; take() waits. Called on the saver's thread.
  std::function<void(const std::string& key, const std::string& text)> put = {};
  std::function<std::string(const std::string& key)> take = {};

  bool is_first() const { return index == 0; }
};

struct SaverOptions {
  Folders folders;
  Retention retention;
  bool verify = true;  // reads back what was written before older ones are removed
  // Called right before each rename that commits, on a thread of the saver, never twice at once:
  // here the trainer syncs its event log and checks its lease. An error abandons the save.
  std::function<Result<void>()> before_commit = {};
  Writers writers = {};
};

class Saver {
 public:
  // The caller, with its fellow writers, is the only writer of the folders: what dead processes
  // left half done is cleaned up, and checkpoints of the fast folder that are not durable yet are
  // copied.
  explicit Saver(SaverOptions options);
  // Waits for all that was started.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Whether the memory of the last save is still being read.
  bool is_busy() const;

  // Returns at once. Must not be busy.
  void start(Save save);

  // Of what has finished since the last call.
  std::vector<SaveReport> take_reports();

  // Until everything that was started is durable and verified, or has failed.
  void wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::checkpoint
