// Sends a run's checkpoints to a tracking server: each is a version of the run's artifact
// "checkpoints-<run id>", so that equal parts are stored once and lineage knows who made them.
// Reads the folders as docs/formats/checkpoint.md describes them; whole files, never tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "track/run_facts.h"
#include "track/server_link.h"

namespace kedge::track {

enum class WhichCheckpoints : std::uint8_t { None, Best, All };

class CheckpointUpload {
 public:
  // The link must live longer.
  CheckpointUpload(Path run, RunName name, ServerLink& link, WhichCheckpoints which)
      : run_(std::move(run)), name_(std::move(name)), link_(link), which_(which) {}

  // Sends what the server does not have, and sees to it that "best" names the best. One that is
  // removed meanwhile, by the trainer's retention, is passed over. After an error, call it again.
  Result<void> send();

  std::size_t sent_count() const { return sent_count_; }

  // Checkpoints that wait in the folder, after the last send().
  std::size_t waiting_count() const;

 private:
  struct Found {
    std::string name;      // of the folder
    std::string manifest;  // its hash of itself
    std::int64_t step = 0;
    bool is_best = false;
  };

  std::vector<Found> find() const;
  std::string path() const;
  Result<void> ask_server();
  Result<bool> send_one(const Found& found);

  Path run_;
  RunName name_;
  ServerLink& link_;
  WhichCheckpoints which_;
  bool has_asked_ = false;
  std::map<std::string, std::string> versions_;  // on the server, by the manifest's hash
  std::string best_;                             // the manifest that has the alias there
  std::size_t sent_count_ = 0;
};

}  // namespace kedge::track
